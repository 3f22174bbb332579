/** The tables of a chart as the page shows them, without a document. */
import type { Cell, ChartTable, Table } from "../api/types";
import { isTransfer, type Chart, type Label, type Window } from "../pipeline/model";
import { linkOf, linksOf, pathsOf } from "../pipeline/path";
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

const int = (name: string, isThere = true): Table["columns"] =>
  isThere ? [[name, "int", "", false]] : [];
const ns = (name: string): Table["columns"][number] => [name, "int", "ns", false];

/** The steps of pipelines that are shown (null: all of them), and the columns that say which one a row is of. */
function windowsShown(chart: Chart, step: number | null, pipeline: number | null) {
  const several = pipeline === null && pipelinesOf(chart).length > 1;
  return {
    windows: chart.windows.filter(
      (w) => (step === null || w.step === step) && (pipeline === null || w.pipeline === pipeline),
    ),
    columns: [...int("step", step === null), ...int("pipeline", several)],
    cells: (w: Window): Cell[] => [
      ...(step === null ? [w.step] : []),
      ...(several ? [w.pipeline] : []),
    ],
  };
}

/** Stage, rank, name and kind of an op. */
const OP_COLUMNS: Table["columns"] = [
  ...int("stage"),
  ...int("rank"),
  ["op", "text", "", false],
  ["kind", "text", "", false],
];
/** Of the chart's ops: where the row leads. */
const ROW: Table["columns"][number] = ["row", "int", "", true];

function opCells(chart: Chart, op: number, kindOf: (kind: number) => string): Cell[] {
  const { stage, rank } = chart.ranks[chart.rank[op]];
  const { name, kind } = chart.labels[chart.label[op]];
  return [stage < 0 ? null : stage, rank, name, kindOf(kind)];
}

const tableWith = (name: string, columns: Table["columns"], rows: Cell[][]): Table => ({
  name,
  title: "",
  columns,
  rows,
  total: rows.length,
  offset: 0,
});

/** The links of the critical path as the chart has them, each with the place that it is at: what ran there, how long of it decided the step, and what was
 * waited before it. Times count from the step's first op; together they are the whole of it (src/analyze/pipeline/bubble.c, walk_critical_path). */
export function pathTable(
  chart: Chart,
  step: number | null,
  pipeline: number | null,
  kindOf: (kind: number) => string,
): Table {
  const shown = windowsShown(chart, step, pipeline);
  const paths = pathsOf(chart);
  const rows = shown.windows.flatMap((window) =>
    linksOf(chart, paths.get(`${window.step} ${window.pipeline}`) ?? [], window.start).map(
      (link): Cell[] => [
        ...shown.cells(window),
        ...opCells(chart, link.op, kindOf),
        chart.start[link.op] - window.start,
        link.computing,
        link.waiting,
        link.op,
      ],
    ),
  );
  const columns = [...shown.columns, ...OP_COLUMNS, ns("start"), ns("computing")];
  return tableWith("PipelinePath", [...columns, ns("waiting before"), ROW], rows);
}

/** The blocks of the chart: each op that computes, in the order of stages and time, with its microbatch (of a pair that of both halves), its times from the
 * step's first op on, and whether it is on the critical path (`yes`). */
export function blockTable(
  chart: Chart,
  step: number | null,
  pipeline: number | null,
  kindOf: (kind: number) => string,
  yes: string,
): Table {
  const shown = windowsShown(chart, step, pipeline);
  const windows = new Map(shown.windows.map((w) => [`${w.step} ${w.pipeline}`, w]));
  const found: [op: number, window: Window][] = [];
  for (let op = 0; op < chart.n; op++) {
    const window = windows.get(`${chart.step[op]} ${chart.ranks[chart.rank[op]].pipeline}`);
    if (window !== undefined && !isTransfer(chart.labels[chart.label[op]].kind)) {
      found.push([op, window]);
    }
  }
  const stageOf = (op: number): number => chart.ranks[chart.rank[op]].stage;
  found.sort(
    ([a, x], [b, y]) =>
      x.step - y.step ||
      x.pipeline - y.pipeline ||
      stageOf(a) - stageOf(b) ||
      chart.rank[a] - chart.rank[b] ||
      chart.start[a] - chart.start[b],
  );
  const known = (n: number): Cell => (n < 0 ? null : n);
  const label = (op: number): Label => chart.labels[chart.label[op]];
  const hasChunks = found.some(([op]) => label(op).chunk > 0);
  const hasPairs = found.some(([op]) => label(op).microbatch2 >= 0);
  const rows = found.map(([op, window]): Cell[] => {
    const { microbatch, chunk, microbatch2, chunk2 } = label(op);
    return [
      ...shown.cells(window),
      ...opCells(chart, op, kindOf),
      known(microbatch),
      ...(hasChunks ? [known(chunk)] : []),
      ...(hasPairs ? [known(microbatch2)] : []),
      ...(hasPairs && hasChunks ? [known(chunk2)] : []),
      chart.start[op] - window.start,
      chart.end[op] - window.start,
      chart.end[op] - chart.start[op],
      linkOf(chart, op) === null ? "" : yes,
      op,
    ];
  });
  const columns = [
    ...shown.columns,
    ...OP_COLUMNS,
    ...int("microbatch"),
    ...int("chunk", hasChunks),
    ...int("microbatch 2", hasPairs),
    ...int("chunk 2", hasPairs && hasChunks),
    ...["start", "end", "duration"].map(ns),
    ["critical path", "text", "", false] as Table["columns"][number],
    ROW,
  ];
  return tableWith("PipelineOps", columns, rows);
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
