/** The chart as columns. Times are nanoseconds from the chart's origin: exact as numbers up to 2^53, 104 days. */

export const KIND = {
  F: 0,
  B: 1,
  BI: 2,
  BW: 3,
  FB: 4,
  LOGITS: 5,
  SEND: 6,
  RECV: 7,
  OTHER: 8,
} as const;
export const N_KINDS = 9;
export const N_PHASES = 7;

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

/** What an op is made of, as the program named it. */
export interface Part {
  op: number;
  name: string;
  kind: number;
  communicates: boolean;
  start: number;
  end: number;
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
  parts: Part[];
}

export interface Table {
  name: string;
  title: string;
  columns: [name: string, type: "int" | "real" | "text", unit: string, exact: boolean][];
  rows: (string | number | null)[][];
}

export const isTransfer = (kind: number): boolean => kind === KIND.SEND || kind === KIND.RECV;
