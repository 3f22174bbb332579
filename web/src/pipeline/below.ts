/** What of a measured chart and of the one that lies below it belongs together. */
import type { Chart, Label } from "./model";
import type { View } from "./rows";
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

/** The ops of a row in a step that are the same op by their labels, in either chart: places in its lane. */
function alike(
  view: View,
  { chart, against }: Charts,
  row: number,
  isBelow: boolean,
  step: number,
  key: string,
): number[] {
  const { ops, theory } = view.rows[row];
  const [of, lane] = isBelow ? [against!, theory] : [chart, ops];
  const isAlike = of.labels.map((label) => keyOf(label) === key);
  const stepOf = (i: number): number =>
    isBelow ? stepBelow(chart, view, row, i) : chart.step[lane.id[i]];
  const found: number[] = [];
  for (let i = 0; i < lane.n; i++) {
    if (isAlike[of.label[lane.id[i]]] && stepOf(i) === step) {
      found.push(i);
    }
  }
  return found;
}

/** Of a measured block the same op below it, of one below it the measured one: of its row and step, of its kind, microbatch and chunk; of
 * several alike the one in the same place. null: there is none, or not as many of them. */
export function counterpart(view: View, charts: Charts, target: Target): Target | null {
  const isBelow = isTheory(target);
  if (charts.against === null || (target.lane !== "ops" && target.lane !== "theory")) {
    return null;
  }
  const of = isBelow ? charts.against : charts.chart;
  const op = view.rows[target.row][target.lane].id[target.index];
  const step = isBelow
    ? stepBelow(charts.chart, view, target.row, target.index)
    : charts.chart.step[op];
  const key = keyOf(of.labels[of.label[op]]);
  const [own, others] = [isBelow, !isBelow].map((below) =>
    alike(view, charts, target.row, below, step, key),
  );
  return own.length === others.length
    ? {
        row: target.row,
        lane: isBelow ? "ops" : "theory",
        index: others[own.indexOf(target.index)],
      }
    : null;
}
