/** The pipeline of each rank as the timeline shows it above its lanes: rows of its chart, on the clock of the rank. Whoever has the charts
 * sets them. */
import type { Rank } from "../api/types";
import { Atom } from "../base/atom";
import type { Ns } from "../base/ns";
import type { Words } from "../pipeline/details";
import type { Chart, Shapes } from "../pipeline/model";
import { makeView, type Row, type View } from "../pipeline/rows";
import type { Texts } from "../pipeline/texts";
import { shiftOf } from "./session";

/** What to add to times of the chart to get those of a rank; null before it is ready. */
export function rankNsShift(chart: Chart, rank: Rank, clockNs: Ns): Ns | null {
  return rank.origin_ns === undefined
    ? null
    : Number(BigInt(chart.originNs) - BigInt(rank.origin_ns)) + clockNs;
}

export interface PipelineRows {
  chart: Chart;
  view: View;
  shapes: Shapes;
  words: Words;
  texts: Texts;
  /** Row of the view and the rank's clock, by the rank's key. */
  places: Map<string, { row: number; clockNs: Ns }>;
}

/** Of each capture that has a chart. */
export const pipelineRows = new Atom<readonly PipelineRows[]>([]);
export const pipelineShown = new Atom(true);

/** All pipelines and steps of a chart. `places`: of each rank of the chart, its key and its clock. */
export function pipelineRowsOf(
  chart: Chart,
  places: readonly [string, Ns][],
  byPhase: boolean,
  more: Pick<PipelineRows, "shapes" | "words" | "texts">,
): PipelineRows {
  const view = makeView(chart, null, { pipeline: null, step: null, byPhase });
  const found = new Map<string, { row: number; clockNs: Ns }>();
  view.rows.forEach((row, i) => {
    const [key, clockNs] = places[row.rankRow] ?? ["", 0];
    if (key !== "") {
      found.set(key, { row: i, clockNs });
    }
  });
  return { chart, view, ...more, places: found };
}

/** A rank's row, and what to add to the view's times to get those of the timeline; null: it has none. */
export function pipelineOf(rank: Rank): { rows: PipelineRows; row: Row; shiftNs: Ns } | null {
  const rows = pipelineShown.get()
    ? pipelineRows.get().find(({ places }) => places.has(rank.key))
    : undefined;
  const place = rows?.places.get(rank.key);
  const own =
    rows === undefined || place === undefined ? null : rankNsShift(rows.chart, rank, place.clockNs);
  return rows === undefined || place === undefined || own === null
    ? null
    : { rows, row: rows.view.rows[place.row], shiftNs: rows.view.originNs + own + shiftOf(rank) };
}
