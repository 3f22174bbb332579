/** The Summary page: what the capture is, how the ranks are arranged, what their steps are made of and who differs. */
import { useEffect, useMemo } from "preact/hooks";
import { get, type Params } from "../api/client";
import { registerUrl } from "../model/url_state";
import { useAtom } from "../base/atom";
import { useBaseline } from "../model/baseline";
import { firstCapture } from "../model/captures";
import { ranks, session } from "../model/session";
import { Empty, Failed, Loading } from "../panels/empty";
import { t } from "../words";
import { BaselinePicker } from "./beside_table";
import { chartTable, MOST_UNASKED, modeTable, useReply, wholeTable } from "./data";
import { Findings } from "./findings";
import { placeParams, setupParams } from "./parallel_form";
import { BaseInfo } from "./summary_base";
import {
  NOTHING_BESIDE,
  placesOf,
  sizesOf,
  type Algorithm,
  type Beside as More,
} from "./summary_model";
import { ranksIn } from "./ready_rank";
import { Overview } from "./summary_overview";
import { part, state } from "./summary_state";
import type { Groups, Spot } from "./where_model";

/** What a table may say that the page can do without. */
const orNull = <T,>(asked: Promise<T | null>, signal: AbortSignal): Promise<T | null> =>
  asked.catch((error: unknown) => {
    if (signal.aborted) {
      throw error;
    }
    return null;
  });

/** How long the steps of a capture are, and what of bubble its pipelines have; the chart of many ranks is not asked for unasked. */
const askBeside = async (
  params: Params,
  withChart: boolean,
  signal: AbortSignal,
): Promise<More> => ({
  summary: await orNull(
    wholeTable("view", { name: "time_summary", ...params }, null, signal),
    signal,
  ),
  bubble: withChart ? await orNull(chartTable("PipelineBubble", params, signal), signal) : null,
});

export function SummaryPage() {
  const now = useAtom(state);
  useEffect(() => registerUrl(part), []);
  const own = firstCapture(useAtom(session));
  const params = setupParams(now.setup);
  const placing = placeParams(now.setup);
  const reply = useReply(JSON.stringify([own, params, placing]), async (signal) => ({
    steps: await modeTable("step_trace_time", "ClusterStepTraceTime", params, signal),
    arranged: await get<{
      algorithm: Algorithm;
      collected: Record<string, number> | null;
      world_size: number;
      places?: (Omit<Spot, "rank"> & { rank: number })[];
      groups?: Groups;
    }>("summary", placing, signal),
  }));
  const base = useBaseline(own);
  const all = useAtom(ranks);
  const isFew = ranksIn(all, own).length <= MOST_UNASKED;
  const known = useReply(JSON.stringify([own, params, isFew]), (signal) =>
    askBeside({ ...params, cluster: own }, isFew, signal),
  );
  const compared = useReply(
    JSON.stringify([params, base]),
    base === null
      ? null
      : async (signal) => ({
          base,
          steps: await modeTable(
            "step_trace_time",
            "ClusterStepTraceTime",
            { ...params, cluster: base },
            signal,
          ),
          more: await askBeside(
            { ...params, cluster: base },
            ranksIn(all, base).length <= MOST_UNASKED,
            signal,
          ),
        }),
  );
  const steps = reply.data?.steps ?? null;
  const carried = useMemo(() => sizesOf(reply.data?.arranged.collected ?? null), [reply.data]);
  const places = useMemo(() => placesOf(reply.data?.arranged.places), [reply.data]);
  const spots = useMemo(
    () => reply.data?.arranged.places?.map((p) => ({ ...p, rank: String(p.rank) })) ?? null,
    [reply.data],
  );
  return (
    <main class="page">
      <BaseInfo own={own} steps={steps} />
      <Beside now={own} error={base === null ? null : compared.error} />
      <Findings view="cluster_advice" verdict="cluster_verdict" title={t("summary.findings")} />
      {reply.error !== null ? (
        <Failed error={reply.error} retry={reply.retry} />
      ) : reply.data === null ? (
        <Loading what={t("summary.working")} />
      ) : steps === null || steps.rows.length === 0 ? (
        <Empty title={t("summary.no-steps")}>
          <p class="quiet">{t("summary.how")}</p>
        </Empty>
      ) : (
        <Overview
          steps={steps}
          more={known.data ?? NOTHING_BESIDE}
          base={
            base !== null && compared.data?.base === base && compared.data.steps !== null
              ? { cluster: base, steps: compared.data.steps, more: compared.data.more }
              : null
          }
          own={reply.data.arranged.algorithm}
          carried={carried}
          worldSize={reply.data.arranged.world_size}
          places={places}
          spots={spots}
          groups={reply.data.arranged.groups ?? {}}
        />
      )}
    </main>
  );
}

function Beside({ now, error }: { now: number; error: unknown }) {
  return (
    <div class="controls-row">
      <BaselinePicker now={now} />
      {error !== null && <Failed error={error} />}
    </div>
  );
}
