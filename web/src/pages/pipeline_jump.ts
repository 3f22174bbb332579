/** From a block of the pipeline chart to its place in the timeline, and back. */
import { get } from "../api/client";
import type { LaneNode, Rank, Ref } from "../api/types";
import type { Ns } from "../base/ns";
import { fail, notify } from "../model/notices";
import {
  goto,
  rankOf,
  selected,
  shiftOf,
  showStep,
  tab,
  type Goto,
  type GotoPipeline,
} from "../model/session";
import { openPanel, showWhole } from "../model/timeline";
import { boxDevice, lanesOfRank } from "../model/working_lanes";
import { rankNsShift } from "../model/pipeline_rows";
import { isTransfer, type Chart } from "../pipeline/model";
import { t } from "../words";
import type { Loaded } from "./pipeline_state";
import { readyRank } from "./ready_rank";

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

/** The slice of the rank that an op is made of, by its span on the device, else by that on the host; null where labels were cut or
 * their clock runs faster than the chart's: then no slice has exactly that span. `shift`: from the chart's times to the rank's. */
async function sliceOf(chart: Chart, op: number, rank: string, shift: Ns): Promise<Ref | null> {
  const spans: [number, number][] = [[chart.start[op], chart.end[op]]];
  if (chart.hostStart !== null && !Number.isNaN(chart.hostStart[op])) {
    spans.push([chart.hostStart[op], chart.hostEnd![op]]);
  }
  for (const [start, end] of spans) {
    const { ref } = await get<{ ref: Ref | null }>("slice_at", {
      rank,
      start: start + shift,
      end: end + shift,
    });
    if (ref !== null) {
      return ref;
    }
  }
  return null;
}

/** The lane of a rank where ops of that kind are; without one the time is still right. */
async function placeOn(rank: Rank, wantsTransfers: boolean): Promise<Pick<Goto, "lane" | "rank">> {
  const lane = await get<{ nodes: LaneNode[] }>("lanes", { rank: rank.key }).then(
    ({ nodes }) => laneFor(nodes, wantsTransfers),
    (error: unknown) => (fail(error), null),
  );
  return { rank: rank.key, ...(lane !== null ? { lane: { rank: rank.key, lane } } : {}) };
}

/** Shows a span of a rank (rankNs) in the timeline; one that is a step is framed. */
export async function showSpan(rank: Rank, start: Ns, end: Ns, isStep: boolean): Promise<void> {
  const at = await placeOn(rank, false);
  const toView = shiftOf(rank);
  const span = { from: start + toView, to: end + toView };
  if (isStep) {
    showStep(span, at, await lanesOfRank(rank.key));
    return;
  }
  selected.set(null); // of what is left
  goto.set({ span, ...at });
  tab.set("timeline");
}

/** The same of a span in which no slice is meant: what the device did there is boxed, as from the pipeline's lane of the timeline. */
export async function showWork(
  rank: Rank,
  start: Ns,
  end: Ns,
  wantsTransfers = false,
): Promise<void> {
  const toView = shiftOf(rank);
  await boxDevice(rank.key, { from: start + toView, to: end + toView });
  openPanel("list");
  selected.set(null); // of what is left
  goto.set({
    span: { from: start + toView, to: end + toView },
    ...(await placeOn(rank, wantsTransfers)),
  });
  tab.set("timeline");
}

/** Shows a span (times from the chart's origin) of a rank of the chart in the timeline, and the slice of its op; `op` -1: a gap. */
export async function jump(
  from: Loaded,
  rankRow: number,
  op: number,
  startNs: number,
  endNs: number,
): Promise<void> {
  const [key, clockNs] = from.places[rankRow] ?? ["", 0];
  if (key === "" || rankOf(key) === undefined) {
    notify("warning", t("pipeline.jump-none"));
    return;
  }
  try {
    const rank = await readyRank(key);
    const shift = rankNsShift(from.chart, rank, clockNs)!;
    const ref = op >= 0 ? await sliceOf(from.chart, op, key, shift) : null;
    const toView = shiftOf(rank);
    const start = startNs + shift;
    const end = endNs + shift;
    if (ref !== null) {
      showWhole(ref, {
        from: Math.min(start, ref.start) + toView,
        to: Math.max(end, ref.start + ref.dur) + toView,
      });
      return;
    }
    const transfer = op >= 0 && isTransfer(from.chart.labels[from.chart.label[op]].kind);
    await showWork(rank, start, end, transfer);
  } catch (error) {
    fail(error);
  }
}

/** What the timeline asks for, in the chart: the row of its ranks, and times from its origin. */
export interface ChartPlace {
  rankRow: number;
  from: number;
  to: number;
  isHost: boolean | null;
}

export function placeInChart(to: Loaded, asked: GotoPipeline): ChartPlace | null {
  const rankRow = to.places.findIndex(([k]) => k === asked.rank);
  const rank = rankOf(asked.rank);
  const shift =
    rankRow < 0 || rank === undefined ? null : rankNsShift(to.chart, rank, to.places[rankRow][1]);
  return shift === null
    ? null
    : { rankRow, from: asked.from - shift, to: asked.to - shift, isHost: asked.isHost };
}

/** How much of two spans is common to both: 1 when they are one, 0 when they do not meet. */
function agreement(from: number, to: number, start: number, end: number): number {
  const common = Math.min(to, end) - Math.max(from, start);
  return common < 0 ? 0 : (common + 1) / (Math.max(to, end) - Math.min(from, start) + 1);
}

/** The op that a span of a rank belongs to: of those it meets the one most like it, which is itself where it is one, and else the innermost
 * around it. On the host by host times, where the chart has them. -1: none. */
export function opOf(chart: Chart, place: ChartPlace): number {
  let best = -1;
  let most = 0;
  for (let i = 0; i < chart.n; i++) {
    if (chart.rank[i] !== place.rankRow) {
      continue;
    }
    const host = chart.hostStart !== null && !Number.isNaN(chart.hostStart[i]);
    const onHost = host
      ? agreement(place.from, place.to, chart.hostStart![i], chart.hostEnd![i])
      : 0;
    const onDevice = agreement(place.from, place.to, chart.start[i], chart.end[i]);
    const likeness = place.isHost === true && host ? onHost : onDevice;
    if (likeness > most) {
      best = i;
      most = likeness;
    }
  }
  return best;
}

/** The step that a rank is in: of the op there, or of the nearest one. null: it has none. */
export function stepAt(chart: Chart, { rankRow, from }: ChartPlace): number | null {
  let best: number | null = null;
  let bestGap = Infinity;
  for (let i = 0; i < chart.n; i++) {
    if (chart.rank[i] === rankRow) {
      const gap = Math.max(chart.start[i] - from, from - chart.end[i], 0);
      if (gap < bestGap) {
        bestGap = gap;
        best = chart.step[i]!;
      }
    }
  }
  return best;
}
