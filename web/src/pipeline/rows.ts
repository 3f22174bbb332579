/** What one view of the chart shows: the rows of one pipeline in one step, or in all of them.
 *
 * Times here count from the view's origin: the start of the step's computation (a receive may be posted long before
 * it). Theory is laid under the measurement step by step, each from its own start. */
import { isTransfer, N_KINDS, type Chart } from "./model";

export interface Lane {
  n: number;
  start: Float64Array;
  end: Float64Array;
  /** Latest end up to here: ends need not grow, this does. */
  reach: Float64Array;
  /** Row in the chart's ops (or bubbles). */
  id: Uint32Array;
  /** Colour: kind, or N_KINDS + phase; of bubbles the cause. */
  look: Uint8Array;
}

export interface Row {
  stage: number;
  rank: number;
  rankRow: number;
  ops: Lane;
  transfers: Lane;
  theory: Lane;
  bubbles: Lane;
  theoryBubbles: Lane;
  /** Time with work, and idle time by cause, summed over the steps shown; in the windows of the steps. */
  busyNs: number;
  /** Busy time by look; blocks that overlap count twice here. */
  lookNs: Map<number, number>;
  causeNs: number[];
}

export interface View {
  pipeline: number;
  step: number | null;
  originNs: number;
  /** Sum of the steps' windows; less than endNs when several steps are shown. */
  windowNs: number;
  endNs: number;
  rows: Row[];
  looks: number[];
  theoryShare: number | null;
  hasTransfers: boolean;
  byPhase: boolean;
}

export interface Choice {
  pipeline: number;
  step: number | null;
  byPhase: boolean;
}

export function pipelinesOf(chart: Chart): number[] {
  return [...new Set(chart.ranks.map((r) => r.pipeline))].sort((a, b) => a - b);
}

export function stepsOf(chart: Chart): number[] {
  return [...new Set(chart.step)].sort((a, b) => a - b);
}

export function hasPhases(chart: Chart): boolean {
  return chart.labels.some((l) => l.phase >= 0);
}

export function lookOf(chart: Chart, op: number, byPhase: boolean): number {
  const label = chart.labels[chart.label[op]!]!;
  return byPhase && label.phase >= 0 ? N_KINDS + label.phase : label.kind;
}

interface Span {
  step: number;
  start: number;
  end: number;
}

/** Windows of the steps of one pipeline. */
function windows(chart: Chart, pipeline: number, only: number | null): Span[] {
  const found = new Map<number, Span>();
  for (let i = 0; i < chart.n; i++) {
    const step = chart.step[i]!;
    if ((only !== null && step !== only) || chart.ranks[chart.rank[i]!]!.pipeline !== pipeline ||
        isTransfer(chart.labels[chart.label[i]!]!.kind)) {
      continue;
    }
    const span = found.get(step);
    if (span === undefined) {
      found.set(step, { step, start: chart.start[i]!, end: chart.end[i]! });
    } else {
      span.start = Math.min(span.start, chart.start[i]!);
      span.end = Math.max(span.end, chart.end[i]!);
    }
  }
  return [...found.values()].sort((a, b) => a.start - b.start);
}

class LaneBuilder {
  private readonly items: [start: number, end: number, id: number, look: number][] = [];
  private sorted = true;

  add(start: number, end: number, id: number, look: number): void {
    if (end < start) {
      return;
    }
    const last = this.items[this.items.length - 1];
    this.sorted = this.sorted && (last === undefined || last[0] <= start);
    this.items.push([start, end, id, look]);
  }

  finish(): Lane {
    if (!this.sorted) {
      this.items.sort((a, b) => a[0] - b[0] || a[2] - b[2]);
    }
    const n = this.items.length;
    const lane: Lane = {
      n,
      start: new Float64Array(n),
      end: new Float64Array(n),
      reach: new Float64Array(n),
      id: new Uint32Array(n),
      look: new Uint8Array(n),
    };
    let reach = -Infinity;
    this.items.forEach(([start, end, id, look], i) => {
      reach = Math.max(reach, end);
      lane.start[i] = start;
      lane.end[i] = end;
      lane.reach[i] = reach;
      lane.id[i] = id;
      lane.look[i] = look;
    });
    return lane;
  }
}

/** First of the lane that ends after `t`. */
export function firstAfter(lane: Lane, t: number): number {
  let low = 0;
  let high = lane.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.reach[middle]! > t) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** The one at time `t`; of several the one that began last. -1 none; `slackNs` widens short ones. */
export function hit(lane: Lane, t: number, slackNs: number): number {
  let best = -1;
  let bestGap = Infinity;
  for (let i = firstAfter(lane, t - slackNs); i < lane.n && lane.start[i]! <= t + slackNs; i++) {
    const gap = Math.max(lane.start[i]! - t, t - lane.end[i]!, 0);
    if (gap <= bestGap && gap <= slackNs) {
      best = i;
      bestGap = gap;
    }
  }
  return best;
}

/** The gaps of a lane within windows: before the first op, between two, after the last. */
function gaps(lane: Lane, spans: Span[], originNs: number): LaneBuilder {
  const found = new LaneBuilder();
  let i = 0;
  for (const span of spans) {
    const start = span.start - originNs;
    const end = span.end - originNs;
    let until = start;
    let seen = false;
    for (; i < lane.n && lane.start[i]! < end; i++) {
      if (lane.start[i]! > until) {
        found.add(until, lane.start[i]!, -1, seen ? 1 : 0);
      }
      until = Math.max(until, lane.end[i]!);
      seen = true;
    }
    if (until < end && seen) {
      found.add(until, end, -1, 2);
    }
  }
  return found;
}

function busy(lane: Lane): number {
  let sum = 0;
  let until = -Infinity;
  for (let i = 0; i < lane.n; i++) {
    sum += Math.max(0, lane.end[i]! - Math.max(lane.start[i]!, until));
    until = Math.max(until, lane.end[i]!);
  }
  return sum;
}

function byLook(lane: Lane): Map<number, number> {
  const sums = new Map<number, number>();
  for (let i = 0; i < lane.n; i++) {
    const look = lane.look[i]!;
    sums.set(look, (sums.get(look) ?? 0) + lane.end[i]! - lane.start[i]!);
  }
  return new Map([...sums].sort((a, b) => a[0] - b[0]));
}

export const NO_ID = 0xffffffff;

export function makeView(chart: Chart, against: Chart | null, choice: Choice, nCauses = 3): View {
  const spans = windows(chart, choice.pipeline, choice.step);
  const originNs = spans[0]?.start ?? 0;
  const ranks = chart.ranks
    .map((r, rankRow) => ({ ...r, rankRow }))
    .filter((r) => r.pipeline === choice.pipeline)
    // An unknown stage (-1) comes last.
    .sort((a, b) => (a.stage >>> 0) - (b.stage >>> 0) || a.rank - b.rank);
  const rowOf = new Int32Array(chart.ranks.length).fill(-1);
  ranks.forEach((r, i) => (rowOf[r.rankRow] = i));

  const ops = ranks.map(() => new LaneBuilder());
  const transfers = ranks.map(() => new LaneBuilder());
  const looks = new Set<number>();
  for (let i = 0; i < chart.n; i++) {
    const row = rowOf[chart.rank[i]!]!;
    if (row < 0 || (choice.step !== null && chart.step[i] !== choice.step)) {
      continue;
    }
    const look = lookOf(chart, i, choice.byPhase);
    const lanes = isTransfer(chart.labels[chart.label[i]!]!.kind) ? transfers : ops;
    lanes[row]!.add(chart.start[i]! - originNs, chart.end[i]! - originNs, i, look);
    looks.add(look);
  }

  const bubbles: (LaneBuilder | null)[] = ranks.map(() => null);
  for (let i = 0; i < chart.bubbles.n; i++) {
    const row = rowOf[chart.bubbles.rank[i]!]!;
    if (row >= 0 && (choice.step === null || chart.bubbles.step[i] === choice.step)) {
      (bubbles[row] ??= new LaneBuilder()).add(
        chart.bubbles.start[i]! - originNs, chart.bubbles.end[i]! - originNs, i, chart.bubbles.cause[i]!);
    }
  }
  const anyBubbles = bubbles.some((b) => b !== null);

  const theory = against === null ? null : layTheory(against, spans, originNs, choice, looks);
  const rows = ranks.map((r, i): Row => {
    const lane = ops[i]!.finish();
    const idle = (anyBubbles ? bubbles[i] ?? new LaneBuilder() : gaps(lane, spans, originNs)).finish();
    const causeNs = new Array<number>(nCauses).fill(0);
    for (let k = 0; k < idle.n; k++) {
      causeNs[idle.look[k]!]! += idle.end[k]! - idle.start[k]!;
    }
    const under = theory?.lanes.get(r.stage) ?? new LaneBuilder().finish();
    return {
      stage: r.stage,
      rank: r.rank,
      rankRow: r.rankRow,
      ops: lane,
      transfers: transfers[i]!.finish(),
      theory: under,
      bubbles: idle,
      theoryBubbles: gaps(under, theory?.spans ?? [], originNs).finish(),
      busyNs: busy(lane),
      lookNs: byLook(lane),
      causeNs,
    };
  });
  const endNs = Math.max(1, (spans[spans.length - 1]?.end ?? originNs) - originNs, theory?.endNs ?? 0);
  return {
    pipeline: choice.pipeline,
    step: choice.step,
    originNs,
    windowNs: Math.max(1, spans.reduce((sum, s) => sum + s.end - s.start, 0)),
    endNs,
    rows,
    looks: [...looks].sort((a, b) => a - b),
    theoryShare: theory?.share ?? null,
    hasTransfers: rows.some((r) => r.transfers.n > 0),
    byPhase: choice.byPhase,
  };
}

interface Theory {
  lanes: Map<number, Lane>;
  spans: Span[];
  endNs: number;
  /** Busy share over all its stages. */
  share: number;
}

function layTheory(against: Chart, measured: Span[], originNs: number, choice: Choice, looks: Set<number>): Theory {
  const pipelines = pipelinesOf(against);
  const pipeline = pipelines.includes(choice.pipeline) ? choice.pipeline : pipelines[0] ?? 0;
  const own = windows(against, pipeline, null);
  const byStep = new Map<number, number[]>();
  for (let i = 0; i < against.n; i++) {
    if (against.ranks[against.rank[i]!]!.pipeline === pipeline && !isTransfer(against.labels[against.label[i]!]!.kind)) {
      const step = against.step[i]!;
      (byStep.get(step) ?? byStep.set(step, []).get(step)!).push(i);
    }
  }
  const builders = new Map<number, LaneBuilder>();
  const spans: Span[] = [];
  for (const span of measured) {
    const source = own.find((s) => s.step === span.step) ?? own[0];
    if (source === undefined) {
      break;
    }
    const shift = span.start - source.start - originNs;
    spans.push({ step: span.step, start: span.start, end: span.start + source.end - source.start });
    for (const op of byStep.get(source.step) ?? []) {
      const stage = against.ranks[against.rank[op]!]!.stage;
      const look = lookOf(against, op, choice.byPhase);
      looks.add(look);
      (builders.get(stage) ?? builders.set(stage, new LaneBuilder()).get(stage)!).add(
        against.start[op]! + shift, against.end[op]! + shift, op, look);
    }
  }
  const lanes = new Map([...builders].map(([stage, b]) => [stage, b.finish()] as const));
  const windowNs = spans.reduce((sum, s) => sum + s.end - s.start, 0);
  const share = [...lanes.values()].reduce((sum, lane) => sum + busy(lane), 0) / Math.max(1, windowNs * lanes.size);
  return { lanes, spans, endNs: Math.max(0, ...spans.map((s) => s.end - originNs)), share };
}
