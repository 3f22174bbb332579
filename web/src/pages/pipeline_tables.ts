/** The tables of a chart as the page shows them, without a document. */
import type { Cell, ChartTable, Table } from "../api/types";
import type { Chart } from "../pipeline/model";
import { linksOf, pathsOf } from "../pipeline/path";
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

/** The links of the critical path as the chart has them, each with the place that it is at: what ran there, how long of it decided the step, and what was
 * waited before it. Times count from the step's first op; together they are the whole of it (src/analyze/pipeline/bubble.c, walk_critical_path). */
export function pathTable(
  chart: Chart,
  step: number | null,
  pipeline: number | null,
  kindOf: (kind: number) => string,
): Table {
  const several = pipeline === null && pipelinesOf(chart).length > 1;
  const rows: Cell[][] = [];
  const paths = pathsOf(chart);
  for (const window of chart.windows) {
    const own = paths.get(`${window.step} ${window.pipeline}`) ?? [];
    if (
      (step === null || window.step === step) &&
      (pipeline === null || window.pipeline === pipeline)
    ) {
      const where = [
        ...(step === null ? [window.step] : []),
        ...(several ? [window.pipeline] : []),
      ];
      linksOf(chart, own, window.start).forEach((link) => {
        const { stage, rank } = chart.ranks[chart.rank[link.op]];
        const { name, kind } = chart.labels[chart.label[link.op]];
        const known = stage < 0 ? null : stage;
        const times = [chart.start[link.op] - window.start, link.computing, link.waiting];
        rows.push([...where, known, rank, name, kindOf(kind), ...times, link.op]);
      });
    }
  }
  const int = (name: string, isThere = true): Table["columns"] =>
    isThere ? [[name, "int", "", false]] : [];
  const columns: Table["columns"] = [
    ...int("step", step === null),
    ...int("pipeline", several),
    ["stage", "int", "", false],
    ["rank", "int", "", false],
    ["op", "text", "", false],
    ["kind", "text", "", false],
    ["start", "int", "ns", false],
    ["computing", "int", "ns", false],
    ["waiting before", "int", "ns", false],
    ["row", "int", "", true], // of the chart's ops
  ];
  return { name: "PipelinePath", title: "", columns, rows, total: rows.length, offset: 0 };
}

/** Why a schedule is in the table without figures. */
export const WHY = "why";

/** Other schedules, and after them those that cannot be compared for this pipeline, each with its reason. `leftOut`: the chart's
 * PipelineNotReplayed, which is there where there are any. */
export function withLeftOut(replayed: Table, leftOut: ChartTable | undefined): Table {
  const schedule = column(leftOut, "schedule");
  const why = column(leftOut, "why");
  if (leftOut === undefined || schedule < 0 || why < 0) {
    return replayed;
  }
  const rows = leftOut.rows.map((row): Cell[] => [
    ...replayed.columns.map(([name]) => (name === "schedule" ? row[schedule] : null)),
    row[why],
  ]);
  return {
    ...replayed,
    columns: [...replayed.columns, [WHY, "text", "", false]],
    rows: [...replayed.rows.map((row) => [...row, ""]), ...rows],
    total: replayed.total + rows.length,
  };
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
