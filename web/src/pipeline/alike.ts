/** Of a job of many ranks the page has some pipelines, which stand for those that behave like them, and what every stage of every
 * pipeline worked (src/write/chart/chart_alike.h). */
import { Column } from "./unpack";

export interface PackedAlike {
  near: number;
  ranks: number;
  pipelines: number;
  left_out: number;
  shown: [pipeline: number, members: string, n: number, within: number][];
  steps: number[];
  stages: number[];
  of: number[];
  by: number[];
  busy: string;
}

export interface Alike {
  near: number;
  ranks: number;
  pipelines: number;
  leftOut: number;
  shown: { pipeline: number; members: string; n: number; within: number }[];
  steps: number[];
  stages: number[];
  /** Numbers of all pipelines. */
  of: number[];
  /** Which is shown for each of them, -1: none. */
  by: number[];
  /** By step, pipeline, stage; NaN where nothing was measured. */
  busy: Float64Array;
}

export function unpackAlike(p: PackedAlike): Alike {
  const n = p.steps.length * p.of.length * p.stages.length;
  const column = new Column(p.busy);
  let last = 0;
  const busy = Float64Array.from({ length: n }, () => {
    last += column.nextSigned();
    return last > 0 ? last - 1 : NaN;
  });
  const shown = p.shown.map(([pipeline, members, count, within]) => ({
    pipeline,
    members,
    n: count,
    within,
  }));
  const { near, ranks, pipelines, steps, stages, of, by } = p;
  return { near, ranks, pipelines, leftOut: p.left_out, shown, steps, stages, of, by, busy };
}

/** What the stages of all pipelines worked in a step, null: in all; by pipeline, stage. */
export function busyIn(alike: Alike, step: number | null): Float64Array {
  const n = alike.of.length * alike.stages.length;
  const sums = new Float64Array(n);
  alike.steps.forEach((s, i) => {
    if (step === null || s === step) {
      for (let k = 0; k < n; k++) {
        sums[k] += alike.busy[i * n + k];
      }
    }
  });
  return sums;
}

function middleOf(values: number[]): number {
  const known = values.filter((v) => !Number.isNaN(v)).sort((a, b) => a - b);
  return known[(known.length - 1) >> 1] ?? NaN;
}

/** More than that is said in words. */
const SLOW = 1.1;
const MOST_SAID = 3;

/** A stage that works longer than the others in most pipelines, and pipelines in which one works longer than that stage does elsewhere. */
export interface Slow {
  stage: { stage: number; ns: number; than: number } | null;
  single: { pipeline: number; stage: number; ns: number; than: number }[];
  /** Not among `single`, which are the slowest. */
  more: number;
}

export function slowOf(alike: Alike, busy: Float64Array): Slow {
  const { stages, of } = alike;
  const middles = stages.map((_, s) => middleOf(of.map((_p, p) => busy[p * stages.length + s])));
  const usual = middleOf(middles);
  const slowest = middles.reduce((best, ns, s) => (ns > middles[best] ? s : best), 0);
  const single = of
    .flatMap((pipeline, p) =>
      stages.map((stage, s) => ({
        pipeline,
        stage,
        ns: busy[p * stages.length + s],
        than: middles[s],
      })),
    )
    .filter(({ ns, than }) => ns > SLOW * than)
    .sort((a, b) => b.ns / b.than - a.ns / a.than || a.pipeline - b.pipeline);
  return {
    stage:
      middles[slowest] > SLOW * usual
        ? { stage: stages[slowest], ns: middles[slowest], than: usual }
        : null,
    single: single.slice(0, MOST_SAID),
    more: Math.max(0, single.length - MOST_SAID),
  };
}
