/** What is at a place of the chart: a block, or a gap of waiting. */
import type { Viewport } from "../base/viewport";
import type { Chart } from "./model";
import type { PathPiece } from "./path";
import { firstAfter, hit, placeOfId, type Lane, type Row, type Tiers, type View } from "./rows";
import { at, type LaneKind, type Scene } from "./scene";

export interface Target {
  row: number;
  lane: LaneKind | "bubbles" | "others" | "theoryBubbles";
  index: number;
  /** The pointer is on the line of the critical path that comes to the block, from this op of the chart. */
  from?: number;
  /** Of a pair its second microbatch, the backward: the right half of the block. */
  isSecond?: boolean;
}

/** What was measured, and what lies below it. */
export interface Charts {
  chart: Chart;
  against: Chart | null;
}

/** A block, gap or work in no op for those outside; times from the chart's origin. */
export interface Place {
  row: Row;
  /** Row in the chart's ops, -1: a gap, or an op of the theory. */
  op: number;
  startNs: number;
  endNs: number;
}

/** No op: idle, or work in none. */
export const isGap = (target: Target): boolean =>
  target.lane === "bubbles" || target.lane === "theoryBubbles" || isOther(target);

export const isOther = (target: Target): boolean => target.lane === "others";

export const isTheory = (target: Target): boolean =>
  target.lane === "theory" || target.lane === "theoryBubbles";

export const laneOf = (view: View, target: Target): Lane => view.rows[target.row][target.lane];

export const isSame = (a: Target | null, b: Target | null): boolean =>
  a?.row === b?.row &&
  a?.lane === b?.lane &&
  a?.index === b?.index &&
  a?.from === b?.from &&
  a?.isSecond === b?.isSecond;

/** The pair of microbatches that a block stands for; null: it has but one. */
export function pairAt(view: View, charts: Charts, target: Target): [number, number] | null {
  const chart = isTheory(target) ? charts.against : charts.chart;
  if (isGap(target) || chart === null) {
    return null;
  }
  const label = chart.labels[chart.label[laneOf(view, target).id[target.index]]];
  return label.microbatch >= 0 && label.microbatch2 >= 0 && label.microbatch !== label.microbatch2
    ? [label.microbatch, label.microbatch2]
    : null;
}

/** Which of a pair is at a time. */
export function halfAt(view: View, charts: Charts, target: Target, ns: number): Target {
  const { start, end } = laneOf(view, target);
  const isSecond = ns >= (start[target.index] + end[target.index]) / 2;
  return isSecond && pairAt(view, charts, target) !== null ? { ...target, isSecond } : target;
}

/** What is at a place where a piece of the critical path is, too: from one block to the next it is what people point at, along a block a
 * part of that. `find`: where an op is. */
export function targetOnPath(
  target: Target | null,
  piece: PathPiece | null,
  find: (op: number) => Target | null,
): Target | null {
  const to = piece === null ? null : find(piece.op);
  return to === null ? target : piece!.after < 0 ? to : { ...to, from: piece!.after };
}

export function placeOf(view: View, target: Target): Place {
  const lane = laneOf(view, target);
  return {
    row: view.rows[target.row],
    op: isTheory(target) || isGap(target) ? -1 : lane.id[target.index],
    startNs: lane.start[target.index] + view.originNs,
    endNs: lane.end[target.index] + view.originNs,
  };
}

/** The op or gap of a rank (row of the chart's ranks) at a time from the chart's origin; null when it is not shown. */
export function targetOf(view: View, rankRow: number, ns: number): Target | null {
  const row = view.rows.findIndex((r) => r.rankRow === rankRow);
  if (row < 0) {
    return null;
  }
  const t = ns - view.originNs;
  for (const lane of ["ops", "transfers", "bubbles", "others"] as const) {
    const index = hit(view.rows[row][lane], t, 0);
    if (index >= 0) {
      return { row, lane, index };
    }
  }
  return null;
}

/** Clocks of a rank and of the chart are told to a few ns by one another. */
const SAME_NS = 10;

/** The gap of a rank, or the work in no op, from exactly one time to another; null: there is none. */
export function targetOfGap(view: View, rankRow: number, from: number, to: number): Target | null {
  const row = view.rows.findIndex((r) => r.rankRow === rankRow);
  const [start, end] = [from - view.originNs, to - view.originNs];
  for (const lane of ["bubbles", "others"] as const) {
    const of = row < 0 ? null : view.rows[row][lane];
    const index = of === null ? -1 : hit(of, (start + end) / 2, 0);
    if (
      of !== null &&
      index >= 0 &&
      Math.abs(of.start[index] - start) <= SAME_NS &&
      Math.abs(of.end[index] - end) <= SAME_NS
    ) {
      return { row, lane, index };
    }
  }
  return null;
}

/** An op of the chart; null when it is not shown. */
export function targetOfOp(view: View, op: number): Target | null {
  for (const [row, lanes] of view.rows.entries()) {
    for (const lane of ["ops", "transfers"] as const) {
      const index = lanes[lane].id.indexOf(op);
      if (index >= 0) {
        return { row, lane, index };
      }
    }
  }
  return null;
}

const KEPT_LANES = ["ops", "transfers", "theory", "bubbles", "others", "theoryBubbles"] as const;

/** A block or gap as an address has it: its lane, its rank ("s" and the stage where none was measured), its span from the view's origin. */
export function textOfTarget(view: View, target: Target): string {
  const { rank, stage } = view.rows[target.row];
  const { start, end } = laneOf(view, target);
  const [from, to] = [start[target.index], end[target.index]].map(Math.round);
  const of = rank >= 0 ? String(rank) : `s${stage}`;
  return [target.lane, of, `${from},${to}`, ...(target.isSecond === true ? ["2"] : [])].join(":");
}

/** The same read; null: nothing that is shown is that. */
export function targetOfText(view: View, text: string): Target | null {
  const [name, of, span, half] = text.split(":");
  const [from, to] = (span ?? "").split(",").map(Number);
  const lane = KEPT_LANES.find((one) => one === name);
  const row = view.rows.findIndex((r) => (r.rank >= 0 ? String(r.rank) : `s${r.stage}`) === of);
  if (lane === undefined || row < 0) {
    return null;
  }
  const { n, start, end } = view.rows[row][lane];
  for (let i = firstAfter(view.rows[row][lane], from - 1); i < n && start[i] <= from + 1; i++) {
    if (Math.round(start[i]) === from && Math.round(end[i]) === to) {
      return { row, lane, index: i, ...(half === "2" ? { isSecond: true } : {}) };
    }
  }
  return null;
}

/** The op of a row that is at a time, or the next one to it; null: the row has none. */
function opNear(view: View, row: number, ns: number): Target | null {
  const lane = view.rows[row]?.ops;
  return lane === undefined || lane.n === 0
    ? null
    : { row, lane: "ops", index: Math.min(firstAfter(lane, ns), lane.n - 1) };
}

/** Where an arrow key leads: along the blocks of a row, of a pair from one to the other, or to the next row's at the same time; from
 * nowhere to the first in sight. null: nowhere. */
export function targetAfter(
  view: View,
  charts: Charts,
  viewport: Pick<Viewport, "from">,
  from: Target | null,
  key: string,
): Target | null {
  if (from === null) {
    const row = view.rows.findIndex((r) => r.ops.n > 0);
    return row < 0 ? null : opNear(view, row, viewport.from);
  }
  const { row } = from;
  const ns = laneOf(view, from).start[from.index];
  const { ops } = view.rows[row];
  const at = from.lane === "ops" ? from.index : -1;
  const isPair = (target: Target): boolean => pairAt(view, charts, target) !== null;
  const along = (by: number): Target | null => {
    if (at < 0) {
      return opNear(view, row, ns);
    }
    if (isPair(from) && by > 0 !== (from.isSecond === true)) {
      return { row, lane: "ops", index: at, ...(by > 0 ? { isSecond: true } : {}) };
    }
    const next: Target = { row, lane: "ops", index: at + by };
    return at + by < 0 || at + by >= ops.n
      ? null
      : by < 0 && isPair(next)
        ? { ...next, isSecond: true }
        : next;
  };
  const across = (by: number): Target | null => {
    let next = row + by;
    while (view.rows[next]?.ops.n === 0) {
      next += by;
    }
    return opNear(view, next, ns);
  };
  switch (key) {
    case "ArrowRight":
      return along(1);
    case "ArrowLeft":
      return along(-1);
    case "ArrowDown":
      return across(1);
    case "ArrowUp":
      return across(-1);
    default:
      return null;
  }
}

/** The op at `ns` in one half of a row whose ops overlap, else one that has the whole height; -1: none. */
function tierAt(row: Row, tiers: Tiers, ns: number, slackNs: number, isUpper: boolean): number {
  for (const tier of [isUpper ? 1 : 2, 0]) {
    const lane = tiers.lanes[tier];
    const at = hit(lane, ns, slackNs);
    if (at >= 0) {
      return placeOfId(row.ops, lane.start[at], lane.id[at]);
    }
  }
  return -1;
}

/** At CSS pixels of the plot. */
export function targetAt(
  view: View,
  scene: Scene,
  viewport: Viewport,
  x: number,
  y: number,
): Target | null {
  const place = at(scene, y);
  if (place === null || x < 0 || x > viewport.width) {
    return null;
  }
  const row = view.rows[place.row];
  const ns = viewport.ns(x);
  const tiers = place.lane === "ops" ? row.tiers : null;
  const index =
    tiers === null
      ? hit(row[place.lane], ns, viewport.nsPerPx)
      : tierAt(row, tiers, ns, viewport.nsPerPx, y - scene.tops[place.row] < scene.blockH / 2);
  if (index >= 0) {
    return { row: place.row, lane: place.lane, index };
  }
  if (place.lane === "transfers") {
    return null;
  }
  const lane = place.lane === "theory" ? "theoryBubbles" : "bubbles";
  const gap = hit(row[lane], ns, 0);
  if (gap >= 0) {
    return { row: place.row, lane, index: gap };
  }
  const other = place.lane === "ops" ? hit(row.others, ns, viewport.nsPerPx) : -1;
  return other >= 0 ? { row: place.row, lane: "others", index: other } : null;
}

/** First of the lane that begins at `t` or later, from `from` on. */
function firstFrom(lane: Lane, t: number, from: number): number {
  let low = from;
  let high = lane.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.start[middle] < t) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** How many ops of those rows the window holds: what a frame is about. */
export function opsInSight(rows: Row[], viewport: Viewport): number {
  return rows.reduce((n, { ops }) => {
    const from = firstAfter(ops, viewport.from);
    return n + firstFrom(ops, viewport.to, from) - from;
  }, 0);
}
