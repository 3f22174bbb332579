/** The chart as columns. Times are nanoseconds from the chart's origin: exact as numbers up to 2^53, 104 days. */

const SEND = 6;
const RECV = 7;
export const N_KINDS = 9;
export const N_PHASES = 7;
/** Colours of blocks: kinds, phases, and work in no op. */
export const LOOK_OTHER_WORK = N_KINDS + N_PHASES;
export const N_LOOKS = LOOK_OTHER_WORK + 1;

/** What ops that look and read alike share. -1 is unknown. */
export interface Label {
  name: string;
  kind: number;
  chunk: number;
  microbatch: number;
  chunk2: number;
  microbatch2: number;
  phase: number;
  source: number;
  /** What is written on its blocks, from most to least, by level (labels.ts). */
  texts: string[];
}

export interface Rank {
  rank: number;
  stage: number;
  pipeline: number;
  /** Its idle time is a bubble; else the chart's `untold` says why not. */
  isTold: boolean;
}

/** Idle times; `waitsFor` is an op of the chart or -1. */
export interface Bubbles {
  n: number;
  start: Float64Array;
  end: Float64Array;
  rank: Uint32Array;
  step: Float64Array;
  cause: Uint8Array;
  waitsFor: Int32Array;
}

/** Work of the device in no op: neither bubble nor busy. */
export interface Others {
  n: number;
  start: Float64Array;
  end: Float64Array;
  rank: Uint32Array;
  step: Float64Array;
}

/** What an op is made of, as the program named it. */
export interface Part {
  op: number;
  name: string;
  /** Row below the op: forward, backward, communication. */
  row: number;
  look: number;
  start: number;
  end: number;
}

/** The computation of a step in a pipeline; end < start: it has none. */
export interface Window {
  pipeline: number;
  step: number;
  start: number;
  end: number;
}

/** What is shown first, and which pipeline makes a step as long as it is, of how many; steps of pipelines that are alike have none. */
export interface Shown {
  step: number;
  pipeline: number;
  longest: [step: number, pipeline: number, of: number][];
}

export interface Chart {
  title: string;
  schedule: string;
  how: string;
  /** Idle time is what `bubbles` says, also where that is none. */
  isMeasured: boolean;
  untold: string;
  /** Why no other schedule was replayed, "" where some was. */
  unreplayed: string;
  /** What else is to be known of its ops: a sentence each. */
  notes: string[];
  /** What the numbers on blocks mean, "" where they are plain microbatches. */
  numbers: string;
  originNs: string;
  ranks: Rank[];
  labels: Label[];
  n: number;
  start: Float64Array;
  end: Float64Array;
  /** NaN where there is no host time; null when there is none at all. */
  hostStart: Float64Array | null;
  hostEnd: Float64Array | null;
  step: Float64Array;
  rank: Uint32Array;
  label: Uint32Array;
  links: { n: number; from: Uint32Array; to: Uint32Array };
  bubbles: Bubbles;
  others: Others;
  /** Ops of the critical path of each step and pipeline, from its end to its start. */
  path: Uint32Array;
  /** Of the bubble of a rank (row in ranks) in a step, what may be ops without marks. */
  unmarked: { rank: number; step: number; ns: number }[];
  /** Likewise of busy time, a forward and a backward at once. */
  overlapped: { rank: number; step: number; ns: number }[];
  /** By pipeline and start. */
  windows: Window[];
  steps: number[];
  parts: Part[];
}

/** What every picture of a chart has, in pixels (src/write/chart/chart_rows.h). */
export interface Shapes {
  /** Heights of what stands in a row, from high to low; the first with as many rows as there are. */
  sizes: RowSize[];
  /** Lines of idle time by cause: 1 rises, 2 falls, 3 both. */
  hatches: number[];
  name_height: number;
  two_lines_height: number;
}

export type RowSize = [
  mostRows: number,
  block: number,
  between: number,
  lower: number,
  transfers: number,
  below: number,
];

export interface Table {
  name: string;
  title: string;
  /** How near rows are that stand as one. */
  note?: string;
  columns: [name: string, type: "int" | "real" | "text", unit: string, exact: boolean][];
  rows: (string | number | null)[][];
}

export const isTransfer = (kind: number): boolean => kind === SEND || kind === RECV;
