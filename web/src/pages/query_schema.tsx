/** What a query may name: tables with their columns and an example each, functions. */
import { useMemo, useState } from "preact/hooks";
import type { Schema, SchemaTable } from "../api/types";
import { functionText, t, tableText } from "../words";
import { inLines } from "./query_complete";
import { ask, draft } from "./query_state";

const SETS = ["traces", "modes", "views", "job views"] as const;

const setWord = (set: SchemaTable["set"]): string =>
  t(`query.set-${set.replace(" ", "-")}` as "query.set-traces");

export function askExample(sql: string): void {
  draft.set(inLines(sql));
  ask(draft.get());
}

export function SchemaPanel({ schema }: { schema: Schema }) {
  const [sought, setSought] = useState("");
  const low = sought.trim().toLowerCase();
  const fitting = useMemo(
    () =>
      schema.tables.filter(
        (table) =>
          low === "" ||
          table.name.toLowerCase().includes(low) ||
          table.text.toLowerCase().includes(low) ||
          table.columns.some(([name]) => name.toLowerCase().includes(low)),
      ),
    [schema, low],
  );
  return (
    <aside class="query-schema" aria-label={t("query.schema")}>
      <input
        type="search"
        value={sought}
        placeholder={t("query.find-table")}
        aria-label={t("query.find-table")}
        onInput={(e) => setSought(e.currentTarget.value)}
      />
      {SETS.map((set) => {
        const tables = fitting.filter((table) => table.set === set);
        return (
          tables.length > 0 && (
            <section aria-label={setWord(set)}>
              <h3>{setWord(set)}</h3>
              {tables.map((table) => (
                <TableEntry key={table.name} table={table} />
              ))}
            </section>
          )
        );
      })}
      {low === "" && (
        <section aria-label={t("query.functions")}>
          <h3>{t("query.functions")}</h3>
          <dl class="query-functions">
            {schema.functions.map(([call, text]) => (
              <div key={call}>
                <dt>
                  <code>{call}</code>
                </dt>
                <dd class="quiet">{functionText(call, text)}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      {fitting.length === 0 && <p class="quiet">{t("palette.none")}</p>}
    </aside>
  );
}

function TableEntry({ table }: { table: SchemaTable }) {
  const [isOpen, setOpen] = useState(false);
  const text = tableText(table);
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary title={text}>
        <code>{table.name}</code> <span class="quiet">{text}</span>
      </summary>
      {isOpen && (
        <>
          <ul>
            {table.columns.map(([name, type, unit, what]) => (
              <li key={name} title={what}>
                <code>{name}</code>
                <span class="quiet">{unit === "" ? type : unit}</span>
              </li>
            ))}
          </ul>
          {table.example !== "" && (
            <button type="button" onClick={() => askExample(table.example)}>
              {t("query.example")}
            </button>
          )}
        </>
      )}
    </details>
  );
}
