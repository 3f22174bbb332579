/** Reads what src/write/chart_pack.c wrote; the layout stands in chart_pack.h. */
import { signed } from "../base/time";
import { LEVELS } from "./labels";
import type { Chart, Label } from "./model";

export interface Packed {
  title: string;
  schedule: string;
  how: string;
  measured: number;
  untold: string;
  unreplayed: string;
  notes: string[];
  numbers: string;
  origin_ns: string;
  ranks: [number, number, number, number][];
  n: number;
  labels: [string, number, number, number, number, number, number, number, string[]][];
  runs: number[];
  label: string;
  gap: string;
  dur: string;
  host: string;
  hostdur: string;
  links: { n: number; from: string; to: string };
  bubbles: { n: number; runs: number[]; gap: string; dur: string; cause: string; waits: string };
  others: { n: number; runs: number[]; gap: string; dur: string };
  path: { n: number; op: string };
  unmarked: [number, number, number][];
  overlapped: [number, number, number][];
  windows: [number, number, number, number][];
  parts: [number, string, number, number, number, number][];
}

/** A series of variable-length integers. */
export class Column {
  private readonly bytes: string;
  private at = 0;

  constructor(base64: string) {
    this.bytes = atob(base64);
  }

  get isEmpty(): boolean {
    return this.bytes.length === 0;
  }

  /** Multiplies where shifts would lose what lies beyond 32 bits. */
  next(): number {
    let byte = this.bytes.charCodeAt(this.at++);
    if (byte < 0x80) {
      return byte;
    }
    let value = byte & 0x7f;
    let scale = 0x80;
    do {
      byte = this.bytes.charCodeAt(this.at++);
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
    } while (byte >= 0x80);
    return value;
  }

  nextSigned(): number {
    return unzigzag(this.next());
  }
}

export function unzigzag(v: number): number {
  return v % 2 === 0 ? v / 2 : -(v + 1) / 2;
}

/** By level: "" is one like the text before, none at all the name alone. */
function textsOf(name: string, packed: string[]): string[] {
  const texts: string[] = [];
  for (let level = 0; level < LEVELS; level++) {
    const text = packed[level] ?? "";
    texts.push(text !== "" ? text : (texts[level - 1] ?? name));
  }
  return texts;
}

export function unpack(p: Packed): Chart {
  const labels: Label[] = p.labels.map(
    ([name, kind, chunk, microbatch, chunk2, microbatch2, phase, source, texts]) => ({
      name,
      kind,
      chunk,
      microbatch,
      chunk2,
      microbatch2,
      phase,
      source,
      texts: textsOf(name, texts),
    }),
  );
  const chart: Chart = {
    title: p.title,
    schedule: p.schedule,
    how: p.how,
    isMeasured: p.measured === 1,
    untold: p.untold,
    unreplayed: p.unreplayed,
    notes: p.notes.map(signed),
    numbers: p.numbers,
    originNs: p.origin_ns,
    ranks: p.ranks.map(([rank, stage, pipeline, told]) => ({
      rank,
      stage,
      pipeline,
      isTold: told === 1,
    })),
    labels,
    n: p.n,
    start: new Float64Array(p.n),
    end: new Float64Array(p.n),
    hostStart: null,
    hostEnd: null,
    step: new Float64Array(p.n),
    rank: new Uint32Array(p.n),
    label: new Uint32Array(p.n),
    links: { n: p.links.n, from: new Uint32Array(p.links.n), to: new Uint32Array(p.links.n) },
    bubbles: {
      n: p.bubbles.n,
      start: new Float64Array(p.bubbles.n),
      end: new Float64Array(p.bubbles.n),
      rank: new Uint32Array(p.bubbles.n),
      step: new Float64Array(p.bubbles.n),
      cause: new Uint8Array(p.bubbles.n),
      waitsFor: new Int32Array(p.bubbles.n).fill(-1),
    },
    others: {
      n: p.others.n,
      start: new Float64Array(p.others.n),
      end: new Float64Array(p.others.n),
      rank: new Uint32Array(p.others.n),
      step: new Float64Array(p.others.n),
    },
    path: pathOf(p.path),
    unmarked: p.unmarked.map(([rank, step, ns]) => ({ rank, step, ns })),
    overlapped: p.overlapped.map(([rank, step, ns]) => ({ rank, step, ns })),
    windows: p.windows.map(([pipeline, step, start, end]) => ({ pipeline, step, start, end })),
    steps: [...new Set(p.windows.map(([, step]) => step))].sort((a, b) => a - b),
    parts: [],
  };
  unpackOps(p, chart);
  unpackLinks(p, chart);
  unpackBubbles(p, chart);
  unpackOthers(p, chart);
  chart.parts = p.parts.map(([op, name, row, look, after, dur]) => {
    const start = chart.start[op] + after;
    return { op, name, row, look, start, end: start + dur };
  });
  return chart;
}

function unpackOps(p: Packed, c: Chart): void {
  const label = new Column(p.label);
  const gap = new Column(p.gap);
  const dur = new Column(p.dur);
  const host = new Column(p.host);
  const hostDur = new Column(p.hostdur);
  if (!host.isEmpty) {
    c.hostStart = new Float64Array(p.n).fill(NaN);
    c.hostEnd = new Float64Array(p.n).fill(NaN);
  }
  const lastDur = new Float64Array(256);
  let row = 0;
  let op = 0;
  for (let r = 0; r < p.runs.length; r += 3) {
    let end = 0;
    for (let k = p.runs[r + 2]; k > 0; k--, op++) {
      row += label.nextSigned();
      const kind = c.labels[row].kind;
      const start = end + gap.nextSigned();
      const took = lastDur[kind] + dur.nextSigned();
      lastDur[kind] = took;
      end = start + took;
      c.rank[op] = p.runs[r]!;
      c.step[op] = p.runs[r + 1]!;
      c.label[op] = row;
      c.start[op] = start;
      c.end[op] = end;
      const shift = c.hostStart === null ? 0 : host.next();
      if (shift > 0) {
        c.hostStart![op] = start + unzigzag(shift - 1);
        c.hostEnd![op] = c.hostStart![op] + hostDur.nextSigned();
      }
    }
  }
}

function unpackLinks(p: Packed, c: Chart): void {
  const from = new Column(p.links.from);
  const to = new Column(p.links.to);
  let lastFrom = 0;
  let reach = 0;
  for (let i = 0; i < p.links.n; i++) {
    lastFrom += from.nextSigned();
    reach += to.nextSigned();
    c.links.from[i] = lastFrom;
    c.links.to[i] = lastFrom + reach;
  }
}

function unpackBubbles(p: Packed, c: Chart): void {
  const gap = new Column(p.bubbles.gap);
  const dur = new Column(p.bubbles.dur);
  const cause = new Column(p.bubbles.cause);
  const waits = new Column(p.bubbles.waits);
  const b = c.bubbles;
  const runs = p.bubbles.runs;
  let i = 0;
  let lastWait = 0;
  for (let r = 0; r < runs.length; r += 3) {
    let end = 0;
    for (let k = runs[r + 2]; k > 0; k--, i++) {
      b.rank[i] = runs[r]!;
      b.step[i] = runs[r + 1]!;
      b.start[i] = end + gap.nextSigned();
      end = b.start[i] + dur.nextSigned();
      b.end[i] = end;
      b.cause[i] = cause.next();
      const wait = waits.next();
      if (wait > 0) {
        lastWait += unzigzag(wait - 1);
        b.waitsFor[i] = lastWait;
      }
    }
  }
}

function unpackOthers(p: Packed, c: Chart): void {
  const gap = new Column(p.others.gap);
  const dur = new Column(p.others.dur);
  const o = c.others;
  const { runs } = p.others;
  let i = 0;
  for (let r = 0; r < runs.length; r += 3) {
    let end = 0;
    for (let k = runs[r + 2]; k > 0; k--, i++) {
      o.rank[i] = runs[r]!;
      o.step[i] = runs[r + 1]!;
      o.start[i] = end + gap.nextSigned();
      end = o.start[i] + dur.nextSigned();
      o.end[i] = end;
    }
  }
}

function pathOf({ n, op }: Packed["path"]): Uint32Array {
  const column = new Column(op);
  let last = 0;
  return Uint32Array.from({ length: n }, () => (last += column.nextSigned()));
}
