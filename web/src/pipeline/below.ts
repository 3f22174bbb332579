/** What of a measured chart and of the one that lies below it belongs together. */
import type { Chart, Label } from "./model";
import type { Lane, View } from "./rows";
import { isTheory, type Charts, type Target } from "./targets";

/** The measured step that a block of the lane below lies under: the last one of its pipeline that has begun. */
export function stepBelow(chart: Chart, view: View, row: number, index: number): number {
  if (view.step !== null) {
    return view.step;
  }
  const { pipeline, theory } = view.rows[row];
  const ns = theory.start[index] + view.originNs;
  const begun = chart.windows.filter((w) => w.pipeline === pipeline && w.start <= ns);
  return begun.length > 0 ? begun[begun.length - 1].step : -1;
}

/** What tells ops of a stage apart, whoever named them: a chunk that nobody told is the first. */
const keyOf = ({ kind, microbatch, microbatch2, chunk, chunk2 }: Label): string =>
  [kind, microbatch, Math.max(0, chunk), microbatch2, Math.max(0, chunk2)].join();

/** Ops of a rank, in order; `stepOf` the i-th. */
export interface Blocks {
  chart: Chart;
  lane: Lane;
  stepOf: (i: number) => number;
}

const alike = ({ chart, lane, stepOf }: Blocks, step: number, key: string): number[] => {
  const isAlike = chart.labels.map((label) => keyOf(label) === key);
  const found: number[] = [];
  for (let i = 0; i < lane.n; i++) {
    if (isAlike[chart.label[lane.id[i]]] && stepOf(i) === step) {
      found.push(i);
    }
  }
  return found;
};

/** The op of a rank that is the same as one of another rank of that stage: of its step, kind, microbatch and chunk; of several alike the one
 * in the same place. -1: there is none, or not as many of them. */
export function sameBlock(of: Blocks, index: number, there: Blocks): number {
  const { chart, lane, stepOf } = of;
  const step = stepOf(index);
  const key = keyOf(chart.labels[chart.label[lane.id[index]]]);
  const [own, others] = [of, there].map((blocks) => alike(blocks, step, key));
  return own.length === others.length ? others[own.indexOf(index)] : -1;
}

/** Of a measured block the same op below it, of one below it the measured one; null: there is none. */
export function counterpart(view: View, { chart, against }: Charts, target: Target): Target | null {
  const { row, index } = target;
  if (against === null || (target.lane !== "ops" && target.lane !== "theory")) {
    return null;
  }
  const { ops, theory } = view.rows[row];
  const measured: Blocks = { chart, lane: ops, stepOf: (i) => chart.step[ops.id[i]] };
  const below: Blocks = {
    chart: against,
    lane: theory,
    stepOf: (i) => stepBelow(chart, view, row, i),
  };
  const isBelow = isTheory(target);
  const found = isBelow ? sameBlock(below, index, measured) : sameBlock(measured, index, below);
  return found < 0 ? null : { row, lane: isBelow ? "ops" : "theory", index: found };
}
