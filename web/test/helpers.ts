/** A chart written by hand, for tests. */
import type { Chart, Label, Shapes, Window } from "../src/pipeline/model";

export interface TestOp {
  rank?: number;
  step?: number;
  kind?: number;
  name?: string;
  microbatch?: number;
  microbatch2?: number;
  phase?: number;
  start: number;
  end: number;
}

export const SHAPES: Shapes = {
  sizes: [
    [6, 32, 2, 19, 12, 10],
    [24, 20, 2, 12, 8, 8],
    [24, 16, 2, 10, 6, 4],
    [1000, 10, 1, 6, 4, 2],
  ],
  hatches: [1, 3, 2],
  name_height: 13,
  two_lines_height: 25,
};

/** As the program makes them. */
function windowsOf(ops: TestOp[], ranks: { pipeline: number }[]): Window[] {
  const found: Window[] = [];
  for (const { rank = 0, step = 0, kind, start, end } of ops) {
    const { pipeline } = ranks[rank];
    let window = found.find((w) => w.pipeline === pipeline && w.step === step);
    if (window === undefined) {
      window = { pipeline, step, start: Infinity, end: -Infinity };
      found.push(window);
    }
    if (kind !== 6 && kind !== 7) {
      window.start = Math.min(window.start, start);
      window.end = Math.max(window.end, end);
    }
  }
  return found.sort((a, b) => a.pipeline - b.pipeline || a.start - b.start);
}

export function chartOf(ops: TestOp[], ranks = [{ rank: 0, stage: 0, pipeline: 0 }]): Chart {
  const labels: Label[] = ops.map((op) => ({
    name: op.name ?? "",
    kind: op.kind ?? 0,
    chunk: 0,
    microbatch: op.microbatch ?? -1,
    chunk2: -1,
    microbatch2: op.microbatch2 ?? -1,
    phase: op.phase ?? -1,
    source: 5,
    texts: Array<string>(4).fill(op.name ?? ""),
  }));
  return {
    title: "",
    schedule: "",
    how: "",
    isMeasured: false,
    notes: [],
    numbers: "",
    untold: "",
    unreplayed: "",
    originNs: "0",
    ranks: ranks.map((r) => ({ ...r, isTold: true })),
    labels,
    n: ops.length,
    start: Float64Array.from(ops, (o) => o.start),
    end: Float64Array.from(ops, (o) => o.end),
    hostStart: null,
    hostEnd: null,
    step: Float64Array.from(ops, (o) => o.step ?? 0),
    rank: Uint32Array.from(ops, (o) => o.rank ?? 0),
    label: Uint32Array.from(ops, (_, i) => i),
    links: { n: 0, from: new Uint32Array(0), to: new Uint32Array(0) },
    bubbles: {
      n: 0,
      start: new Float64Array(0),
      end: new Float64Array(0),
      rank: new Uint32Array(0),
      step: new Float64Array(0),
      cause: new Uint8Array(0),
      waitsFor: new Int32Array(0),
    },
    others: {
      n: 0,
      start: new Float64Array(0),
      end: new Float64Array(0),
      rank: new Uint32Array(0),
      step: new Float64Array(0),
    },
    path: new Uint32Array(0),
    unmarked: [],
    overlapped: [],
    windows: windowsOf(ops, ranks),
    steps: [...new Set(ops.map((op) => op.step ?? 0))],
    parts: [],
  };
}
