/** From a block of the pipeline chart to its place in the timeline, and back. */
import { get } from "../api/client";
import type { LaneNode, Rank } from "../api/types";
import type { Ns } from "../base/ns";
import { fail, notify } from "../model/notices";
import { goto, load, rankOf, ranks, shiftOf, tab } from "../model/session";
import type { Chart } from "../pipeline/model";
import { t } from "../words";
import type { Loaded } from "./pipeline_state";

/** What to add to times of the chart to get those of a rank; null before it is ready. */
export function rankNsShift(chart: Chart, rank: Rank, clockNs: Ns): Ns | null {
  return rank.origin_ns === undefined
    ? null
    : Number(BigInt(chart.originNs) - BigInt(rank.origin_ns)) + clockNs;
}

/** Where an op of that kind is looked for: sends and receives among the communicators, computation where its marks are on the
 * device, else on the stream or thread with the most slices. */
export function laneFor(nodes: readonly LaneNode[], isTransfer: boolean): number | null {
  const most = (wanted: (n: LaneNode) => boolean): number | null => {
    let best: LaneNode | null = null;
    for (const n of nodes) {
      if (n.lane >= 0 && n.slices > (best?.slices ?? 0) && wanted(n)) {
        best = n;
      }
    }
    return best?.lane ?? null;
  };
  return (
    (isTransfer ? most((n) => n.kind === "comm") : null) ??
    most((n) => n.kind === "marks" && n.device >= 0) ??
    most((n) => n.kind === "device") ??
    most((n) => n.kind === "marks") ??
    most((n) => n.kind === "host")
  );
}

/** The rank when it is ready; asks for it when it is not. */
function ready(key: string): Promise<Rank> {
  return new Promise((done, give) => {
    const check = (): boolean => {
      const rank = rankOf(key);
      if (rank?.state === "ready") {
        done(rank);
      } else if (rank === undefined || rank.state === "failed") {
        give(new Error(rank?.error ?? t("pipeline.jump-none")));
      } else {
        return false;
      }
      return true;
    };
    if (check()) {
      return;
    }
    notify("info", t("pipeline.jump-load", rankOf(key)!.label));
    void load([key]).catch(give);
    const stop = ranks.listen(() => check() && stop());
  });
}

/** Shows a span (times from the chart's origin) of a rank of the chart in the timeline. */
export async function jump(
  from: Loaded,
  rankRow: number,
  startNs: number,
  endNs: number,
  isTransfer: boolean,
): Promise<void> {
  const [key, clockNs] = from.places[rankRow] ?? ["", 0];
  if (key === "" || rankOf(key) === undefined) {
    notify("warning", t("pipeline.jump-none"));
    return;
  }
  try {
    const rank = await ready(key);
    // The time is right even where no lane is.
    const lane = await get<{ nodes: LaneNode[] }>("lanes", { rank: key }).then(
      ({ nodes }) => laneFor(nodes, isTransfer),
      (error: unknown) => (fail(error), null),
    );
    const shift = rankNsShift(from.chart, rank, clockNs)! + shiftOf(rank);
    goto.set({
      span: { from: startNs + shift, to: endNs + shift },
      ...(lane !== null ? { lane: { rank: key, lane } } : {}),
    });
    tab.set("timeline");
  } catch (error) {
    fail(error);
  }
}

/** The row of the chart's ranks, and the time from the chart's origin, of a time of a rank. */
export function placeInChart(
  to: Loaded,
  key: string,
  at: Ns,
): { rankRow: number; ns: number } | null {
  const rankRow = to.places.findIndex(([k]) => k === key);
  const rank = rankOf(key);
  const shift =
    rankRow < 0 || rank === undefined ? null : rankNsShift(to.chart, rank, to.places[rankRow][1]);
  return shift === null ? null : { rankRow, ns: at - shift };
}

/** The step that a rank is in at a time: of its op there, or of the nearest one. -1: it has none. */
export function stepAt(chart: Chart, rankRow: number, ns: number): number | null {
  let best: number | null = null;
  let bestGap = Infinity;
  for (let i = 0; i < chart.n; i++) {
    if (chart.rank[i] === rankRow) {
      const gap = Math.max(chart.start[i] - ns, ns - chart.end[i], 0);
      if (gap < bestGap) {
        bestGap = gap;
        best = chart.step[i]!;
      }
    }
  }
  return best;
}
