/** What one view of the chart shows: the rows of one pipeline or of all, in one step or in all of them.
 *
 * Times here count from the view's origin: the start of the step's computation (a receive may be posted long before
 * it), of several pipelines the first. Theory is laid under the measurement step by step, each from its own start. */
import { isTransfer, LOOK_OTHER_WORK, N_KINDS, type Chart, type Window } from "./model";

export interface Lane {
  n: number;
  start: Float64Array;
  end: Float64Array;
  /** Latest end up to here: ends need not grow, this does. The ends themselves where they do. */
  reach: Float64Array;
  /** Row in the chart's ops (or bubbles). */
  id: Uint32Array;
  /** Colour: kind, or N_KINDS + phase; of bubbles the cause. */
  look: Uint8Array;
}

/** `of`: by place in the lane of all ops, 0 whole, 1 upper, 2 lower. Ids of the lanes are those of the ops. */
export interface Tiers {
  of: Uint8Array;
  lanes: [whole: Lane, upper: Lane, lower: Lane];
}

export interface Row {
  stage: number;
  /** -1: a stage of the theory that was not measured. */
  rank: number;
  /** Row in the chart's ranks, -1 as above. */
  rankRow: number;
  pipeline: number;
  ops: Lane;
  /** Where ops overlap: which have the whole height, the upper half and the lower one. Null: none do. */
  tiers: Tiers | null;
  transfers: Lane;
  theory: Lane;
  bubbles: Lane;
  /** Work of the device in no op; ids are rows of the chart's others. */
  others: Lane;
  theoryBubbles: Lane;
  /** What the ops are made of: forward, backward, communication; ids are rows of the chart's parts. Empty where nothing is known. */
  parts: Lane[];
  /** What is idle is bubble. */
  isTold: boolean;
  /** Sum of the windows of its pipeline's steps. */
  windowNs: number;
  /** Time with work, and idle time by cause, summed over the steps shown; in the windows of the steps. */
  busyNs: number;
  /** Busy time by look; blocks that overlap count twice here. */
  lookNs: Map<number, number>;
  causeNs: number[];
  /** Work in no op: window = busy + other + causes. */
  otherNs: number;
  /** Of the idle time, what may be ops without marks. */
  unmarkedNs: number;
  /** Of the busy time, a forward and a backward at once. */
  overlappedNs: number;
  /** The stage that its stalls waited for the longest, and for how long it had not finished. */
  waits: { stage: number; ns: number } | null;
}

export interface View {
  /** null: all, one below the other. */
  pipeline: number | null;
  pipelines: number[];
  step: number | null;
  originNs: number;
  /** Sum of the steps' windows; less than endNs when several steps are shown. Of several pipelines the longest. */
  windowNs: number;
  endNs: number;
  rows: Row[];
  looks: number[];
  theoryShare: number | null;
  /** Sum of the windows of the theory. */
  theoryNs: number;
  hasParts: boolean;
  hasOthers: boolean;
  hasTransfers: boolean;
  byPhase: boolean;
}

export interface Choice {
  pipeline: number | null;
  step: number | null;
  byPhase: boolean;
}

export function pipelinesOf(chart: Chart): number[] {
  return [...new Set(chart.ranks.map((r) => r.pipeline))].sort((a, b) => a - b);
}

export function hasPhases(chart: Chart): boolean {
  return chart.labels.some((l) => l.phase >= 0);
}

function looksOf(chart: Chart, byPhase: boolean): Uint8Array {
  return Uint8Array.from(chart.labels, (l) =>
    byPhase && l.phase >= 0 ? N_KINDS + l.phase : l.kind,
  );
}

const transfersOf = (chart: Chart): Uint8Array =>
  Uint8Array.from(chart.labels, (l) => (isTransfer(l.kind) ? 1 : 0));

/** Windows of the steps, by pipeline. */
function windows(chart: Chart, only: number | null): Map<number, Window[]> {
  const found = new Map<number, Window[]>();
  for (const w of chart.windows) {
    if ((only === null || w.step === only) && w.end >= w.start) {
      (found.get(w.pipeline) ?? found.set(w.pipeline, []).get(w.pipeline)!).push(w);
    }
  }
  return found;
}

export class LaneBuilder {
  private n = 0;
  private start: Float64Array;
  private end: Float64Array;
  private id: Uint32Array;
  private look: Uint8Array;
  private isSorted = true;

  constructor(room = 16) {
    this.start = new Float64Array(room);
    this.end = new Float64Array(room);
    this.id = new Uint32Array(room);
    this.look = new Uint8Array(room);
  }

  add(start: number, end: number, id: number, look: number): void {
    if (end < start) {
      return;
    }
    const n = this.n;
    if (n === this.start.length) {
      this.grow();
    }
    this.isSorted = this.isSorted && (n === 0 || this.start[n - 1] <= start);
    this.start[n] = start;
    this.end[n] = end;
    this.id[n] = id;
    this.look[n] = look;
    this.n++;
  }

  private grow(): void {
    const room = Math.max(16, this.start.length * 2);
    const wider = <T extends Float64Array | Uint32Array | Uint8Array>(old: T, fresh: T): T => {
      fresh.set(old);
      return fresh;
    };
    this.start = wider(this.start, new Float64Array(room));
    this.end = wider(this.end, new Float64Array(room));
    this.id = wider(this.id, new Uint32Array(room));
    this.look = wider(this.look, new Uint8Array(room));
  }

  finish(): Lane {
    const { n } = this;
    let { start, end, id, look } = this;
    if (start.length > n) {
      [start, end, id, look] = [
        start.slice(0, n),
        end.slice(0, n),
        id.slice(0, n),
        look.slice(0, n),
      ];
    }
    if (!this.isSorted) {
      const order = Array.from({ length: n }, (_, i) => i).sort(
        (a, b) => start[a] - start[b] || id[a] - id[b],
      );
      [start, end] = [
        Float64Array.from(order, (i) => start[i]),
        Float64Array.from(order, (i) => end[i]),
      ];
      [id, look] = [Uint32Array.from(order, (i) => id[i]), Uint8Array.from(order, (i) => look[i])];
    }
    let reach = end;
    for (let i = 1; i < n; i++) {
      if (end[i] < end[i - 1]) {
        reach = new Float64Array(n);
        let most = -Infinity;
        for (let k = 0; k < n; k++) {
          most = Math.max(most, end[k]);
          reach[k] = most;
        }
        break;
      }
    }
    return { n, start, end, reach, id, look };
  }
}

/** Ops that have more than a tenth of the shorter one in common run beside one another; less is a difference of clocks. */
const OVERLAPS = 0.1;

/** Ops that overlap, each in another half of the row than the one that it overlaps. */
export function tiersOf(lane: Lane): Tiers | null {
  if (lane.reach === lane.end && !hasOverlaps(lane)) {
    return null;
  }
  const of = new Uint8Array(lane.n);
  let any = false;
  let last = 0; // of those before, the one that ends last
  for (let i = 1; i < lane.n; i++) {
    const common = Math.min(lane.end[last], lane.end[i]) - lane.start[i];
    const shorter = Math.min(lane.end[last] - lane.start[last], lane.end[i] - lane.start[i]);
    if (common > OVERLAPS * shorter) {
      of[last] = of[last] === 0 ? 1 : of[last];
      of[i] = 3 - of[last];
      any = true;
    }
    last = lane.end[i] >= lane.end[last] ? i : last;
  }
  if (!any) {
    return null;
  }
  const made = [0, 1, 2].map((tier) => {
    const part = new LaneBuilder(0);
    for (let i = 0; i < lane.n; i++) {
      if (of[i] === tier) {
        part.add(lane.start[i], lane.end[i], lane.id[i], lane.look[i]);
      }
    }
    return part.finish();
  });
  return { of, lanes: [made[0], made[1], made[2]] };
}

function hasOverlaps(lane: Lane): boolean {
  for (let i = 1; i < lane.n; i++) {
    if (lane.start[i] < lane.end[i - 1]) {
      return true;
    }
  }
  return false;
}

/** The place of an op in a lane, -1: it is none of it. */
export function placeOfId(lane: Lane, startNs: number, id: number): number {
  for (let i = firstAfter(lane, startNs); i < lane.n && lane.start[i] <= startNs; i++) {
    if (lane.id[i] === id) {
      return i;
    }
  }
  return lane.id.indexOf(id);
}

/** First of the lane that ends after `t`. */
export function firstAfter(lane: Lane, t: number): number {
  let low = 0;
  let high = lane.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.reach[middle] > t) {
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
  for (let i = firstAfter(lane, t - slackNs); i < lane.n && lane.start[i] <= t + slackNs; i++) {
    const gap = Math.max(lane.start[i] - t, t - lane.end[i], 0);
    if (gap <= bestGap && gap <= slackNs) {
      best = i;
      bestGap = gap;
    }
  }
  return best;
}

/** The gaps of a lane within windows: before the first op, between two, after the last. */
function gaps(lane: Lane, spans: Window[], originNs: number): LaneBuilder {
  const found = new LaneBuilder();
  let i = 0;
  for (const span of spans) {
    const start = span.start - originNs;
    const end = span.end - originNs;
    let until = start;
    let seen = false;
    for (; i < lane.n && lane.start[i] < end; i++) {
      if (lane.start[i] > until) {
        found.add(until, lane.start[i], NO_ID, seen ? 1 : 0);
      }
      until = Math.max(until, lane.end[i]);
      seen = true;
    }
    if (until < end && seen) {
      found.add(until, end, NO_ID, 2);
    }
  }
  return found;
}

function busy(lane: Lane): number {
  let sum = 0;
  let until = -Infinity;
  for (let i = 0; i < lane.n; i++) {
    sum += Math.max(0, lane.end[i] - Math.max(lane.start[i], until));
    until = Math.max(until, lane.end[i]);
  }
  return sum;
}

/** Of a lane in which none overlaps another. */
function sumOf(lane: Lane): number {
  let sum = 0;
  for (let i = 0; i < lane.n; i++) {
    sum += lane.end[i] - lane.start[i];
  }
  return sum;
}

function byLook(lane: Lane): Map<number, number> {
  const sums = new Float64Array(32);
  const n = new Uint32Array(32);
  for (let i = 0; i < lane.n; i++) {
    sums[lane.look[i]] += lane.end[i] - lane.start[i];
    n[lane.look[i]]++;
  }
  return new Map([...sums].map((ns, look) => [look, ns] as const).filter(([look]) => n[look] > 0));
}

export const NO_ID = 0xffffffff;
const EMPTY = new LaneBuilder(0).finish();
const STALL = 1;

/** For how long the stalls of a lane waited for which stage to finish; the longest. */
function waitsOf(chart: Chart, idle: Lane, originNs: number): { stage: number; ns: number } | null {
  const by = new Map<number, number>();
  for (let i = 0; i < idle.n; i++) {
    const op =
      idle.look[i] === STALL && idle.id[i] !== NO_ID ? chart.bubbles.waitsFor[idle.id[i]] : -1;
    const ns = op < 0 ? 0 : Math.min(chart.end[op] - originNs, idle.end[i]) - idle.start[i];
    if (ns > 0) {
      const { stage } = chart.ranks[chart.rank[op]];
      by.set(stage, (by.get(stage) ?? 0) + ns);
    }
  }
  let best: { stage: number; ns: number } | null = null;
  for (const [stage, ns] of by) {
    best = best === null || ns > best.ns ? { stage, ns } : best;
  }
  return best;
}

/** Lanes of the chart's ops, of those that the choice has, by row of `rowOf`. */
function layOps(
  chart: Chart,
  choice: Choice,
  rowOf: Int32Array,
  nRows: number,
  originNs: number,
  looks: Set<number>,
): { ops: Lane[]; transfers: Lane[] } {
  const look = looksOf(chart, choice.byPhase);
  const transfer = transfersOf(chart);
  const room = [new Uint32Array(nRows), new Uint32Array(nRows)];
  const has = (i: number): number => {
    const row = rowOf[chart.rank[i]];
    return choice.step === null || chart.step[i] === choice.step ? row : -1;
  };
  for (let i = 0; i < chart.n; i++) {
    const row = has(i);
    if (row >= 0) {
      room[transfer[chart.label[i]]][row]++;
    }
  }
  const builders = room.map((counts) => Array.from(counts, (n) => new LaneBuilder(n)));
  const seen = new Uint8Array(32);
  for (let i = 0; i < chart.n; i++) {
    const row = has(i);
    if (row >= 0) {
      const label = chart.label[i];
      builders[transfer[label]][row].add(
        chart.start[i] - originNs,
        chart.end[i] - originNs,
        i,
        look[label],
      );
      seen[look[label]] = 1;
    }
  }
  seen.forEach((is, i) => is === 1 && looks.add(i));
  return { ops: builders[0].map((b) => b.finish()), transfers: builders[1].map((b) => b.finish()) };
}

function layBubbles(
  chart: Chart,
  choice: Choice,
  rowOf: Int32Array,
  nRows: number,
  originNs: number,
): (Lane | null)[] | null {
  const { bubbles } = chart;
  const found: (LaneBuilder | null)[] = new Array<null>(nRows).fill(null);
  let any = chart.isMeasured;
  for (let i = 0; i < bubbles.n; i++) {
    const row = rowOf[bubbles.rank[i]];
    if (row >= 0 && (choice.step === null || bubbles.step[i] === choice.step)) {
      (found[row] ??= new LaneBuilder()).add(
        bubbles.start[i] - originNs,
        bubbles.end[i] - originNs,
        i,
        bubbles.cause[i],
      );
      any = true;
    }
  }
  return any ? found.map((b) => b?.finish() ?? null) : null;
}

function layOthers(
  chart: Chart,
  choice: Choice,
  rowOf: Int32Array,
  nRows: number,
  originNs: number,
): Lane[] {
  const { others } = chart;
  const found = Array.from({ length: nRows }, () => new LaneBuilder(0));
  for (let i = 0; i < others.n; i++) {
    const row = rowOf[others.rank[i]];
    if (row >= 0 && (choice.step === null || others.step[i] === choice.step)) {
      found[row].add(others.start[i] - originNs, others.end[i] - originNs, i, LOOK_OTHER_WORK);
    }
  }
  return found.map((lane) => lane.finish());
}

/** By row; none where the chart has no parts. */
function layParts(
  chart: Chart,
  choice: Choice,
  rowOf: Int32Array,
  nRows: number,
  originNs: number,
): Lane[][] {
  const found = Array.from({ length: nRows }, () => [
    new LaneBuilder(),
    new LaneBuilder(),
    new LaneBuilder(),
  ]);
  chart.parts.forEach((part, i) => {
    const row = rowOf[chart.rank[part.op]];
    if (row >= 0 && (choice.step === null || chart.step[part.op] === choice.step)) {
      found[row][part.row].add(part.start - originNs, part.end - originNs, i, part.look);
    }
  });
  return found.map((lanes) => (chart.parts.length > 0 ? lanes.map((lane) => lane.finish()) : []));
}

export function makeView(chart: Chart, against: Chart | null, choice: Choice, nCauses = 3): View {
  const all = windows(chart, choice.step);
  const pipelines = choice.pipeline === null ? pipelinesOf(chart) : [choice.pipeline];
  const spansOf = (pipeline: number): Window[] => all.get(pipeline) ?? [];
  const starts = pipelines.flatMap((p) =>
    spansOf(p)
      .slice(0, 1)
      .map((s) => s.start),
  );
  const originNs = starts.length > 0 ? Math.min(...starts) : 0;
  const ranks = chart.ranks
    .map((r, rankRow) => ({ ...r, rankRow }))
    .filter((r) => pipelines.includes(r.pipeline))
    // An unknown stage (-1) comes last.
    .sort(
      (a, b) => a.pipeline - b.pipeline || (a.stage >>> 0) - (b.stage >>> 0) || a.rank - b.rank,
    );
  const rowOf = new Int32Array(chart.ranks.length).fill(-1);
  ranks.forEach((r, i) => (rowOf[r.rankRow] = i));

  const looks = new Set<number>();
  const { ops, transfers } = layOps(chart, choice, rowOf, ranks.length, originNs, looks);
  const parts = layParts(chart, choice, rowOf, ranks.length, originNs);
  parts.forEach((lanes) =>
    lanes
      .slice(0, 2)
      .forEach((lane) => lane.look.subarray(0, lane.n).forEach((look) => looks.add(look))),
  );
  const bubbles = layBubbles(chart, choice, rowOf, ranks.length, originNs);
  const others = layOthers(chart, choice, rowOf, ranks.length, originNs);
  const ofRows = (figures: Chart["unmarked"]): Float64Array => {
    const sums = new Float64Array(ranks.length);
    for (const { rank, step, ns } of figures) {
      if (rowOf[rank] >= 0 && (choice.step === null || step === choice.step)) {
        sums[rowOf[rank]] += ns;
      }
    }
    return sums;
  };
  const unmarked = ofRows(chart.unmarked);
  const overlapped = ofRows(chart.overlapped);
  const theories = new Map(
    against === null
      ? []
      : pipelines.map((p) => [p, layTheory(against, spansOf(p), p, originNs, choice, looks)]),
  );
  const windowOf = (pipeline: number): number =>
    Math.max(
      1,
      spansOf(pipeline).reduce((sum, s) => sum + s.end - s.start, 0),
    );

  const rows = ranks.map((r, i): Row => {
    const lane = ops[i];
    const idle =
      bubbles !== null ? (bubbles[i] ?? EMPTY) : gaps(lane, spansOf(r.pipeline), originNs).finish();
    const causeNs = new Array<number>(nCauses).fill(0);
    for (let k = 0; k < idle.n; k++) {
      causeNs[idle.look[k]] += idle.end[k] - idle.start[k];
    }
    const theory = theories.get(r.pipeline);
    const under = theory?.lanes.get(r.stage) ?? EMPTY;
    return {
      stage: r.stage,
      rank: r.rank,
      rankRow: r.rankRow,
      pipeline: r.pipeline,
      isTold: r.isTold,
      ops: lane,
      tiers: tiersOf(lane),
      transfers: transfers[i],
      theory: under,
      bubbles: idle,
      others: others[i],
      parts: parts[i],
      theoryBubbles: gaps(under, theory?.spans ?? [], originNs).finish(),
      windowNs: windowOf(r.pipeline),
      busyNs: busy(lane),
      lookNs: byLook(lane),
      causeNs,
      otherNs: sumOf(others[i]),
      unmarkedNs: unmarked[i],
      overlappedNs: overlapped[i],
      waits: waitsOf(chart, idle, originNs),
    };
  });
  for (const [pipeline, theory] of theories) {
    addUnmeasured(rows, pipeline, theory, originNs, nCauses, windowOf(pipeline));
  }
  const ends = pipelines
    .map((p) => spansOf(p))
    .filter((s) => s.length > 0)
    .map((s) => Math.max(...s.map((x) => x.end)) - originNs);
  const theoryEnds = [...theories.values()].map((t) => t.endNs);
  const shares = [...theories.values()].map((t) => t.share);
  return {
    pipeline: choice.pipeline,
    pipelines,
    step: choice.step,
    originNs,
    windowNs: Math.max(1, ...pipelines.map(windowOf)),
    endNs: Math.max(1, ...ends, ...theoryEnds),
    rows,
    looks: [...looks].sort((a, b) => a - b),
    theoryShare: shares.length > 0 ? shares.reduce((a, b) => a + b, 0) / shares.length : null,
    theoryNs: Math.max(
      0,
      ...[...theories.values()].map((t) => t.spans.reduce((sum, s) => sum + s.end - s.start, 0)),
    ),
    hasParts: chart.parts.length > 0,
    hasOthers: rows.some((r) => r.others.n > 0),
    hasTransfers: rows.some((r) => r.transfers.n > 0),
    byPhase: choice.byPhase,
  };
}

/** A share of the steps of all stages that were measured. */
function shareOf(rows: readonly Row[], part: (row: Row) => number): number {
  const measured = rows.filter((r) => r.ops.n > 0);
  const sum = (of: (row: Row) => number): number => measured.reduce((n, r) => n + of(r), 0);
  return (
    sum(part) /
    Math.max(
      1,
      sum((r) => r.windowNs),
    )
  );
}

/** Idle share over all stages that were measured; null where the chart says why there is none. */
export function bubbleShare(rows: readonly Row[]): number | null {
  return rows.every((r) => r.ops.n === 0 || r.isTold)
    ? shareOf(rows, (r) => r.causeNs.reduce((a, b) => a + b, 0))
    : null;
}

/** Less of it is not told (PS_UNMARKED_SAID). */
const UNMARKED_SAID = 0.0005;

/** What of the bubble may be ops without marks; 0: none, or too little to be told. */
export function unmarkedShare(rows: readonly Row[]): number {
  const share = shareOf(rows, (r) => r.unmarkedNs);
  return share < UNMARKED_SAID ? 0 : share;
}

/** In how much of the busy time of all stages a forward runs beside a backward. */
export function overlappedShare(rows: readonly Row[]): number {
  const sum = (of: (row: Row) => number): number => rows.reduce((n, r) => n + of(r), 0);
  return (
    sum((r) => r.overlappedNs) /
    Math.max(
      1,
      sum((r) => r.busyNs),
    )
  );
}

/** Rows for the stages of the theory that nobody measured, in their places. */
function addUnmeasured(
  rows: Row[],
  pipeline: number,
  theory: Theory,
  originNs: number,
  nCauses: number,
  windowNs: number,
): void {
  const measured = new Set(rows.filter((r) => r.pipeline === pipeline).map((r) => r.stage));
  if (measured.has(-1)) {
    return; // who knows which they are
  }
  for (const [stage, lane] of theory.lanes) {
    if (!measured.has(stage)) {
      rows.push({
        stage,
        rank: -1,
        rankRow: -1,
        pipeline,
        isTold: true,
        ops: EMPTY,
        tiers: null,
        transfers: EMPTY,
        theory: lane,
        bubbles: EMPTY,
        others: EMPTY,
        parts: [],
        theoryBubbles: gaps(lane, theory.spans, originNs).finish(),
        windowNs,
        busyNs: 0,
        lookNs: new Map(),
        causeNs: new Array<number>(nCauses).fill(0),
        otherNs: 0,
        unmarkedNs: 0,
        overlappedNs: 0,
        waits: null,
      });
    }
  }
  rows.sort(
    (a, b) => a.pipeline - b.pipeline || (a.stage >>> 0) - (b.stage >>> 0) || a.rank - b.rank,
  );
}

interface Theory {
  lanes: Map<number, Lane>;
  spans: Window[];
  endNs: number;
  /** Busy share over all its stages. */
  share: number;
}

function layTheory(
  against: Chart,
  measured: Window[],
  wanted: number,
  originNs: number,
  choice: Choice,
  looks: Set<number>,
): Theory {
  const pipelines = pipelinesOf(against);
  const pipeline = pipelines.includes(wanted) ? wanted : (pipelines[0] ?? 0);
  const own = windows(against, null).get(pipeline) ?? [];
  const look = looksOf(against, choice.byPhase);
  const transfer = transfersOf(against);
  const byStep = new Map<number, number[]>();
  for (let i = 0; i < against.n; i++) {
    if (against.ranks[against.rank[i]].pipeline === pipeline && transfer[against.label[i]] === 0) {
      const step = against.step[i];
      (byStep.get(step) ?? byStep.set(step, []).get(step)!).push(i);
    }
  }
  const builders = new Map<number, LaneBuilder>();
  const spans: Window[] = [];
  for (const span of measured) {
    const source = own.find((s) => s.step === span.step) ?? own[0];
    if (source === undefined) {
      break;
    }
    const shift = span.start - source.start - originNs;
    spans.push({ ...span, end: span.start + source.end - source.start });
    for (const op of byStep.get(source.step) ?? []) {
      const { stage } = against.ranks[against.rank[op]];
      looks.add(look[against.label[op]]);
      (builders.get(stage) ?? builders.set(stage, new LaneBuilder()).get(stage)!).add(
        against.start[op] + shift,
        against.end[op] + shift,
        op,
        look[against.label[op]],
      );
    }
  }
  const lanes = new Map([...builders].map(([stage, b]) => [stage, b.finish()] as const));
  const windowNs = spans.reduce((sum, s) => sum + s.end - s.start, 0);
  const share =
    [...lanes.values()].reduce((sum, lane) => sum + busy(lane), 0) /
    Math.max(1, windowNs * lanes.size);
  return { lanes, spans, endNs: Math.max(0, ...spans.map((s) => s.end - originNs)), share };
}
