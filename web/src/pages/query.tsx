/** The SQL page: a query over all ranks of what is served, its rows as a table, two of its columns as a plot. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, get } from "../api/client";
import type { QueryTable, Schema } from "../api/types";
import { useAtom } from "../base/atom";
import { grouped } from "../base/format";
import { duration } from "../base/time";
import { register } from "../model/commands";
import { sentenceOf } from "../model/notices";
import { openCaptures, shortNames } from "../model/captures";
import { ranks, session } from "../model/session";
import { registerUrl, urlChanged } from "../model/url_state";
import { PlotChart } from "../panels/chart_plot";
import { Empty } from "../panels/empty";
import { Segments, Select } from "../panels/form";
import { DataTable, LocalTable, type TableRow } from "../panels/table";
import { columnsOf, type Column } from "../panels/table_model";
import type { TableOptions } from "../panels/table_options";
import { language, spoken, t, tableText } from "../words";
import { useReply } from "./data";
import { cluster, job, jobParams } from "./job_state";
import { indexOfByte } from "./query_complete";
import { QueryEditor } from "./query_editor";
import { goTo, jumpRow, mayJump, type RowPlace } from "./query_jump";
import { firstChoice, pointsOf } from "./query_plot";
import { askExample, SchemaPanel } from "./query_schema";
import { ask, asked, draft, giveUp, part, plot, PLOTS, show, type PlotKind } from "./query_state";
import "./query.css";

/** Rows of a plot at most: one page of the server. */
const MOST_PLOTTED = 5000;
const PLOT_PX = 280;
/** Of the list over the editor. */
const MOST_EXAMPLES = 13;

export function QueryPage() {
  useAtom(language);
  useEffect(() => registerUrl(part), []);
  useEffect(
    () =>
      register([
        { id: "query.run", word: "query.run", keys: ["Ctrl+Enter"], run: () => ask(draft.get()) },
        { id: "query.edit", word: "query.edit", keys: ["/"], run: focusEditor },
      ]),
    [],
  );
  const schema = useReply("schema", (signal) => get<Schema>("schema", {}, signal));
  const reply = useAnswer();
  return (
    <main class="page query-page">
      <div class="query-main">
        <Bar schema={schema.data} isRunning={reply.isRunning} />
        <QueryEditor schema={schema.data} wrongAt={reply.wrongAt} />
        <Answer {...reply} />
      </div>
      {schema.data !== null && <SchemaPanel schema={schema.data} />}
    </main>
  );
}

function focusEditor(): void {
  document.getElementById("query-text")?.focus();
}

// --- asking ------------------------------------------------------------------------------------------------------------

interface Answered {
  table: QueryTable | null;
  error: unknown;
  isRunning: boolean;
  /** In the text that was asked, while the editor still has it. */
  wrongAt: number | null;
}

const paramsOf = (sql: string): Record<string, string | number | boolean> => ({
  sql,
  cluster: cluster.get(),
  ...jobParams(),
  ...spoken(),
});

function useAnswer(): Answered {
  const of = useAtom(asked);
  const where = useAtom(cluster);
  const overrides = useAtom(job);
  const text = useAtom(draft);
  const speaks = useAtom(language);
  const reply = useReply(
    JSON.stringify([of, where, overrides, speaks]),
    of === null
      ? null
      : (signal) => get<QueryTable>("query", { ...paramsOf(of.sql), limit: MOST_PLOTTED }, signal),
  );
  const isRunning = of !== null && reply.isLoading;
  const error = of === null ? null : reply.error;
  const byte = error instanceof ApiError ? error.more.byte : undefined;
  return {
    table: of === null || isRunning ? null : reply.data,
    error,
    isRunning,
    wrongAt: typeof byte === "number" && of?.sql === text ? indexOfByte(text, byte) : null,
  };
}

// --- the line over the editor ------------------------------------------------------------------------------------------

function Bar({ schema, isRunning }: { schema: Schema | null; isRunning: boolean }) {
  const text = useAtom(draft);
  const of = useAtom(cluster);
  const choices = shortNames(openCaptures(useAtom(session)));
  return (
    <div class="controls-row query-bar">
      <button
        type="button"
        class="primary"
        disabled={text.trim() === "" || isRunning}
        title="Ctrl+Enter"
        onClick={() => ask(text)}
      >
        {t("query.run")}
      </button>
      {isRunning && (
        <button type="button" onClick={giveUp}>
          {t("query.stop")}
        </button>
      )}
      {schema !== null && (
        <label>
          {t("query.examples")}
          <select
            value=""
            onChange={(e) => {
              askExample(e.currentTarget.value);
              e.currentTarget.value = "";
            }}
          >
            <option value="">{t("query.choose")}</option>
            {schema.tables.slice(0, MOST_EXAMPLES).map((table) => (
              <option key={table.name} value={table.example} title={table.example}>
                {table.name}: {tableText(table)}
              </option>
            ))}
          </select>
        </label>
      )}
      {choices.length > 1 && (
        <Select
          label={t("pipeline.cluster")}
          value={String(of)}
          options={choices.map(([i, path]) => [String(i), path] as const)}
          onChange={(i) => {
            cluster.set(Number(i));
            urlChanged();
          }}
        />
      )}
      <span class="quiet query-keys">{t("query.keys")}</span>
    </div>
  );
}

// --- the answer --------------------------------------------------------------------------------------------------------

function Answer({ table, error, isRunning }: Answered) {
  const sql = useAtom(asked)?.sql ?? "";
  if (isRunning) {
    return (
      <div class="empty" role="status" aria-busy="true">
        <p class="quiet">{t("query.running")}</p>
      </div>
    );
  }
  if (error !== null) {
    return <Wrong error={error} />;
  }
  if (table === null) {
    return (
      <Empty title={t("query.nothing")}>
        <p class="quiet">{t("query.hint")}</p>
      </Empty>
    );
  }
  return <Result key={sql} sql={sql} table={table} />;
}

/** What is wrong and where in the text. */
function Wrong({ error }: { error: unknown }) {
  const text = error instanceof TypeError ? t("frame.lost") : sentenceOf(error);
  const line = error instanceof ApiError ? error.more.line : undefined;
  return text === null ? null : (
    <div class="query-wrong" role="alert">
      {typeof line === "number" && <span class="quiet">{t("query.line", line)}</span>} <b>{text}</b>
    </div>
  );
}

function Result({ sql, table }: { sql: string; table: QueryTable }) {
  const where = useAtom(cluster);
  useAtom(ranks);
  const columns = useMemo(() => columnsOf(table), [table]);
  const params = useMemo(() => paramsOf(sql), [sql, where, table]);
  const placeIn = (row: TableRow): RowPlace | null => jumpRow(row.cells, columns, where);
  const options: TableOptions = {
    title: "",
    name: "query",
    isPlain: true,
    jump: {
      isThere: mayJump(columns),
      can: (row) => placeIn(row) !== null,
      to: (row) => {
        const place = placeIn(row);
        if (place !== null) {
          void goTo(place);
        }
      },
    },
  };
  return (
    <>
      <p class="query-facts" role="status">
        {factsOf(table)}
      </p>
      {(table.notes ?? []).map((note) => (
        <p class="quiet query-note">{note}</p>
      ))}
      <PlotPart table={table} columns={columns} />
      <div class="query-rows">
        {table.rows.length === table.total ? (
          <LocalTable table={table} {...options} />
        ) : (
          <DataTable path="query" params={params} {...options} />
        )}
      </div>
    </>
  );
}

function factsOf(table: QueryTable): string {
  const rows = t("table.rows", grouped(String(table.n_rows)));
  const kept = table.n_rows > table.total ? t("query.kept", grouped(String(table.total))) : "";
  return `${rows}${kept} · ${duration(table.elapsed_ns)}`;
}

// --- the plot ----------------------------------------------------------------------------------------------------------

type PlotChoice = PlotKind | "none";

function PlotPart({ table, columns }: { table: QueryTable; columns: Column[] }) {
  const shown = useAtom(plot);
  const first = useMemo(() => firstChoice(columns), [columns]);
  const y = columns.find((c) => c.name === shown?.y && c.isNumber) ?? null;
  if (first === null || table.rows.length < 2) {
    return null;
  }
  const change = (kind: PlotChoice): void =>
    show(kind === "none" ? null : { ...(shown ?? first), kind });
  const numbers = columns.filter((c) => c.isNumber);
  return (
    <section class="query-plotting" aria-label={t("query.plot")}>
      <div class="controls-row">
        <Segments<PlotChoice>
          label={t("query.plot")}
          value={shown?.kind ?? "none"}
          options={(["none", ...PLOTS] as const).map((k) => [k, t(`query.plot-${k}`)] as const)}
          onChange={change}
        />
        {shown !== null && (
          <>
            <Select
              label="x"
              value={shown.x}
              options={[
                ["", t("query.in-order")] as const,
                ...columns.map((c) => [c.name, c.name] as const),
              ]}
              onChange={(x) => show({ ...shown, x })}
            />
            <Select
              label="y"
              value={shown.y}
              options={numbers.map((c) => [c.name, c.name] as const)}
              onChange={(next) => show({ ...shown, y: next })}
            />
            {table.n_rows > table.rows.length && (
              <span class="quiet">{t("query.plotted", grouped(String(table.rows.length)))}</span>
            )}
          </>
        )}
      </div>
      {shown !== null && y !== null && (
        <Drawn table={table} columns={columns} kind={shown.kind} x={shown.x} y={y} />
      )}
    </section>
  );
}

function Drawn({
  table,
  columns,
  kind,
  x,
  y,
}: {
  table: QueryTable;
  columns: Column[];
  kind: PlotKind;
  x: string;
  y: Column;
}) {
  const where = useAtom(cluster);
  const [picked, setPicked] = useState<string>("");
  const points = useMemo(
    () => pointsOf(table.rows, columns.find((c) => c.name === x) ?? null, y),
    [table, columns, x, y],
  );
  const pick = (i: number): void => {
    const row = points.rows[i];
    const place = row === undefined ? null : jumpRow(row, columns, where);
    if (place !== null) {
      void goTo(place);
    } else if (row !== undefined) {
      setPicked(columns.map((c) => `${c.name} = ${String(row[c.index] ?? "NULL")}`).join(", "));
    }
  };
  return (
    <>
      <PlotChart
        title={t("query.plot-of", y.name, x === "" ? t("query.in-order") : x)}
        kind={kind}
        x={points.x}
        y={points.y}
        of={points.of}
        height={PLOT_PX}
        onPick={pick}
      />
      {picked !== "" && (
        <p class="quiet query-note" role="status">
          {picked}
        </p>
      )}
    </>
  );
}
