/** The headers of a table: names with units, order, filters, and the edges that make columns wider. */
import { useEffect, useRef } from "preact/hooks";
import { followDrag } from "../base/pointer";
import { t } from "../words";
import { Icon } from "./icons";
import type { Column, Query } from "./table_model";
import { useTyped } from "./typed";

export interface TableHeadProps {
  columns: Column[];
  query: Query;
  template: string;
  wordOf: (column: Column) => string;
  hintOf: (column: Column) => string;
  hasLead: boolean;
  filterShown: boolean;
  /** The column whose filter takes the focus when the filters come; null: they were there before, and none does. */
  firstFilter: string | null;
  /** Columns whose filter was not understood. */
  wrong: string[];
  widths: number[];
  onSort: (column: Column) => void;
  onFilter: (column: Column, text: string) => void;
  /** null: as wide as its content again. */
  onWidth: (column: Column, width: number | null) => void;
}

/** What may be typed below a column. */
const filterHint = ({ isNumber, shown }: Column): string =>
  !isNumber
    ? t("table.filter-text")
    : shown.unit === ""
      ? t("table.filter-count")
      : t("table.filter-number", shown.unit);

export function TableHead(p: TableHeadProps) {
  return (
    <div class="grid-top">
      <div
        role="row"
        class="grid-head"
        aria-rowindex={1}
        style={{ gridTemplateColumns: p.template }}
      >
        {p.hasLead && <span />}
        {p.columns.map((column, i) => (
          <HeadCell column={column} width={p.widths[i]} {...p} />
        ))}
      </div>
      {p.filterShown && <Filters {...p} />}
    </div>
  );
}

function Filters(p: TableHeadProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (p.firstFilter !== null) {
      const at = p.columns.findIndex((column) => column.name === p.firstFilter);
      row.current?.querySelectorAll("input")[Math.max(0, at)]?.focus();
    }
  }, []);
  return (
    <div ref={row} class="grid-filters" style={{ gridTemplateColumns: p.template }}>
      {p.hasLead && <span />}
      {p.columns.map((column) => (
        <Filter
          key={column.name}
          column={column}
          word={p.wordOf(column)}
          text={p.query.filter[column.name] ?? ""}
          isWrong={p.wrong.includes(column.name)}
          set={(text) => p.onFilter(column, text)}
        />
      ))}
    </div>
  );
}

function HeadCell({
  column,
  width,
  query,
  wordOf,
  hintOf,
  onSort,
  onWidth,
}: TableHeadProps & { column: Column; width: number }) {
  const sort =
    query.sort?.column === column.name ? (query.sort.desc ? "descending" : "ascending") : "none";
  const name = wordOf(column);
  const hint = hintOf(column);
  const drag = (e: PointerEvent): void => {
    const from = e.clientX - width;
    e.preventDefault();
    e.stopPropagation();
    const move = (to: PointerEvent): void => onWidth(column, Math.max(40, to.clientX - from));
    followDrag(e.currentTarget as HTMLElement, e, { move }, 0);
  };
  return (
    <span
      role="columnheader"
      aria-sort={sort}
      class={column.isNumber ? "head num" : "head text"}
      data-column={column.name}
      data-unit={column.unit}
    >
      <button
        type="button"
        class="flat"
        title={`${name}${column.shown.unit === "" ? "" : ` (${column.shown.unit})`}${hint === "" ? "" : `: ${hint}`} · ${t("table.sort")}`}
        onClick={() => onSort(column)}
      >
        {sort !== "none" && <Icon name={sort === "descending" ? "down" : "up"} />}
        <span class="head-name">{name}</span>
        {column.shown.unit !== "" && <span class="head-unit">{column.shown.unit}</span>}
      </button>
      <span
        class="edge"
        aria-hidden="true"
        onPointerDown={drag}
        onDblClick={() => onWidth(column, null)}
        onClick={(e) => e.stopPropagation()}
      />
    </span>
  );
}

/** Typed text takes effect after a breath, or with Enter. Letters that were typed meanwhile stay when it has. */
function Filter({
  column,
  word,
  text,
  isWrong,
  set,
}: {
  column: Column;
  word: string;
  text: string;
  isWrong: boolean;
  set: (text: string) => void;
}) {
  const typed = useTyped(text);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const put = (value: string): void => {
    clearTimeout(timer.current);
    if (value !== text) {
      typed.took(value);
      set(value);
    }
  };
  return (
    <input
      class={isWrong ? "wrong" : ""}
      aria-label={t("table.filter-of", word)}
      aria-invalid={isWrong}
      title={filterHint(column)}
      placeholder={column.isNumber ? "a..b, >a" : "…"}
      spellcheck={false}
      value={typed.text}
      onInput={(e) => {
        const { value } = e.currentTarget;
        typed.type(value);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => put(value), 250) as unknown as number;
      }}
      onKeyDown={(e) => {
        if (e.key === "Enter") {
          put(e.currentTarget.value);
        }
      }}
    />
  );
}
