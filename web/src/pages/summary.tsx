/** The Summary page: what the capture is, how the ranks are arranged, what their steps are made of and who differs. */
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client";
import { registerUrl } from "../model/url_state";
import { useAtom } from "../base/atom";
import { useBaseline } from "../model/baseline";
import { firstCapture } from "../model/captures";
import { session } from "../model/session";
import { Empty, Failed, Loading } from "../panels/empty";
import { t } from "../words";
import { BaselinePicker } from "./beside_table";
import { modeTable, useReply } from "./data";
import { Findings } from "./findings";
import { placeParams, setupParams } from "./parallel_form";
import { BaseInfo } from "./summary_base";
import { placesOf, sizesOf, type Algorithm } from "./summary_model";
import { Overview } from "./summary_overview";
import { part, state } from "./summary_state";
import type { Groups, Spot } from "./where_model";

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
      places?: (Omit<Spot, "rank"> & { rank: number })[];
      groups?: Groups;
    }>("summary", placing, signal),
  }));
  const base = useBaseline(own);
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
          baseSteps={base !== null && compared.data?.base === base ? compared.data.steps : null}
          own={reply.data.arranged.algorithm}
          carried={carried}
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
