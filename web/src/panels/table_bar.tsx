/** The line over a table: what it is, how many rows, notes; and the buttons. */
import { grouped } from "../base/format";
import { t } from "../words";
import { Menu } from "./dialog";
import { Icon } from "./icons";
import type { Column } from "./table_model";

export interface TableBarProps {
  title: string;
  total: number;
  notes: string[];
  isFiltered: boolean;
  columns: Column[];
  wordOf: (column: Column) => string;
  hidden: string[];
  setHidden: (hidden: string[]) => void;
  filterShown: boolean;
  setFilterShown: (on: boolean) => void;
  canReset: boolean;
  reset: () => void;
  copy: () => void;
  save: (kind: "csv" | "json") => void;
}

export function TableBar(p: TableBarProps) {
  return (
    <div class="table-bar">
      <div class="table-title">
        {p.title !== "" && <h3 title={p.title}>{p.title}</h3>}
        <span class="quiet">
          {t(p.isFiltered ? "table.rows-left" : "table.rows", grouped(String(p.total)))}
        </span>
        {p.notes.map((note) => (
          <span class="quiet note" title={note}>
            {note}
          </span>
        ))}
      </div>
      <div class="table-buttons">
        {p.canReset && (
          <button
            type="button"
            class="flat"
            aria-label={t("table.reset")}
            title={t("table.reset")}
            onClick={p.reset}
          >
            <Icon name="reset" />
          </button>
        )}
        <button
          type="button"
          class="flat"
          aria-pressed={p.filterShown}
          aria-label={t("table.filter")}
          title={t("table.filter")}
          onClick={() => p.setFilterShown(!p.filterShown)}
        >
          <Icon name="filter" />
        </button>
        <Menu label={t("table.columns")} icon="columns">
          {() =>
            p.columns.map((column) => (
              <label class="menu-item">
                <input
                  type="checkbox"
                  checked={!p.hidden.includes(column.name)}
                  onChange={(e) =>
                    p.setHidden(
                      e.currentTarget.checked
                        ? p.hidden.filter((h) => h !== column.name)
                        : [...p.hidden, column.name],
                    )
                  }
                />
                {p.wordOf(column)}
              </label>
            ))
          }
        </Menu>
        <button
          type="button"
          class="flat"
          aria-label={t("table.copy")}
          title={t("table.copy")}
          onClick={p.copy}
        >
          <Icon name="copy" />
        </button>
        <Menu label={t("table.save")} icon="save">
          {(close) =>
            (["csv", "json"] as const).map((kind) => (
              <button type="button" class="menu-item" onClick={() => (p.save(kind), close())}>
                {kind.toUpperCase()}
              </button>
            ))
          }
        </Menu>
      </div>
    </div>
  );
}
