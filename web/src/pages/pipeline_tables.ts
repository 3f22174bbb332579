/** The tables of a chart as the page shows them, without a document. */
import type { Cell, ChartTable, Table } from "../api/types";
import type { Chart } from "../pipeline/model";
import { pipelinesOf } from "../pipeline/rows";
import { NO_FORM, type Form, type Under } from "./pipeline_state";

const column = (of: ChartTable | undefined, name: string): number =>
  of?.columns.findIndex(([n]) => n === name) ?? -1;

/** Rows of the step and pipeline that are shown; null: of all. Where a table does not say which rank a row is of, the table of
 * the stages does, whose rows come in the same order. Where rows of several pipelines stand together, each says which it is of. */
export function chosenRows(
  table: ChartTable,
  stages: ChartTable | undefined,
  chart: Chart | null,
  step: number | null,
  pipeline: number | null,
): Table {
  const byRank =
    column(table, "rank") >= 0
      ? table
      : stages?.rows.length === table.rows.length
        ? stages
        : undefined;
  const rank = column(byRank, "rank");
  const own = column(table, "pipeline");
  const pipelineOf = new Map((chart?.ranks ?? []).map((r) => [r.rank, r.pipeline]));
  const ofRow = (row: Cell[], i: number): number | null =>
    own >= 0
      ? Number(row[own])
      : rank < 0
        ? null
        : (pipelineOf.get(Number(byRank!.rows[i][rank])) ?? null);
  const at = column(table, "stage");
  const says =
    pipeline === null &&
    own < 0 &&
    at >= 0 &&
    rank >= 0 &&
    chart !== null &&
    pipelinesOf(chart).length > 1;
  const rows: Cell[][] = [];
  table.rows.forEach((row, i) => {
    const of = ofRow(row, i);
    if (
      (step === null || column(table, "step") < 0 || row[column(table, "step")] === step) &&
      (pipeline === null || of === null || of === pipeline)
    ) {
      rows.push(says ? [...row.slice(0, at), of, ...row.slice(at)] : row);
    }
  });
  const columns = says
    ? [
        ...table.columns.slice(0, at),
        ["pipeline", "int", "", false] as ChartTable["columns"][number],
        ...table.columns.slice(at),
      ]
    : table.columns;
  return { ...table, columns, rows, total: rows.length, offset: 0 };
}

/** What a row of "other schedules" lays below: "1f1b (replayed)", "interleaved, 2 chunks", "1f1b, stages balanced". */
export function replayOf(text: string): { under: Under; form: Form | null } {
  const schedule = text.split(/[ ,(]/)[0];
  if (text.includes("(replayed)")) {
    return { under: "replay", form: null };
  }
  if (text.includes("balanced")) {
    return { under: `theory:${schedule}`, form: null };
  }
  const chunks = /, (\d+) chunks/.exec(text);
  return {
    under: "form",
    form: { ...NO_FORM, schedule, chunks: chunks === null ? null : Number(chunks[1]) },
  };
}
