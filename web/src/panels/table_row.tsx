/** One row of a table. */
import { exactText, restAfter } from "../base/format";
import { inBrackets, t } from "../words";
import { cellHint } from "../words/hints";
import { Icon } from "./icons";
import { cellText } from "./table_columns";
import { isLongName, TAIL, tailPx, TWIG_PX } from "./table_layout";
import { indentOf, type Column } from "./table_model";
import type { TableOptions, TableRow } from "./table_options";
import type { Branch } from "./table_tree";

/** A text that may not fit is said on hover. */
const LONG_TEXT = 12;

export interface GridRowProps {
  row: TableRow | null;
  /** The name of the table. */
  table: string;
  index: number;
  top: number;
  columns: Column[];
  template: string;
  hasLead: boolean;
  isChosen: boolean;
  isFocus: boolean;
  branch: Branch | null;
  options: TableOptions;
  most: Map<number, number>;
  onClick: (extend: boolean) => void;
  onOpen: () => void;
  onToggle: (open: boolean, isDeep?: boolean) => void;
}

export function GridRow(p: GridRowProps) {
  const { row, branch, options } = p;
  const marked = row !== null && (options.isMarked?.(row) ?? false);
  const labelAt = branch === null ? -1 : p.columns.findIndex((c) => !c.isNumber);
  return (
    <div
      class={`grid-row${p.isChosen ? " chosen" : ""}${p.isFocus ? " focus" : ""}${marked ? " marked" : ""}`}
      role="row"
      aria-rowindex={p.index + 2}
      aria-selected={p.isChosen}
      aria-level={branch === null ? undefined : branch.row.depth + 1}
      aria-expanded={branch?.row.hasChildren === true ? branch.isOpen : undefined}
      style={{ gridTemplateColumns: p.template, transform: `translateY(${p.top}px)` }}
      onClick={(e) => getSelection()?.isCollapsed !== false && p.onClick(e.shiftKey)}
      onDblClick={() => {
        getSelection()?.removeAllRanges(); // browsers select the word
        p.onOpen();
      }}
      onPointerEnter={() => row !== null && options.onHover?.(row)}
    >
      {p.hasLead && <Lead canJump={row !== null && canJump(row, options)} onOpen={p.onOpen} />}
      {p.columns.map((column, i) => (
        <GridCell
          row={row}
          table={p.table}
          column={column}
          bar={options.bars?.[column.name]}
          most={p.most.get(column.index) ?? 1}
          branch={i === labelAt ? branch : null}
          options={options}
          onToggle={p.onToggle}
        />
      ))}
    </div>
  );
}

const canJump = (row: TableRow, { jump }: TableOptions): boolean =>
  jump === undefined ? row.get("slice") !== null : jump.can(row);

function Lead({ canJump, onOpen }: { canJump: boolean; onOpen: () => void }) {
  return (
    <span class="grid-lead">
      {canJump && (
        <button
          type="button"
          class="flat tiny"
          tabIndex={-1}
          aria-label={t("table.jump")}
          title={t("table.jump")}
          onClick={(e) => (e.stopPropagation(), onOpen())}
        >
          <Icon name="jump" />
        </button>
      )}
    </span>
  );
}

interface GridCellProps {
  row: TableRow | null;
  table: string;
  column: Column;
  /** A colour variable. */
  bar: string | undefined;
  most: number;
  /** Of the cell that names the row of a tree. */
  branch: Branch | null;
  options: TableOptions;
  onToggle: (open: boolean, isDeep?: boolean) => void;
}

function GridCell({ row, table, column, bar, most, branch, options, onToggle }: GridCellProps) {
  const cell = row?.cells[column.index] ?? null;
  const text = row === null ? "…" : cellText(row, column, options);
  const exact =
    row === null
      ? ""
      : exactText(cell, column.shown, column.unit) || cellHint(table, column.name, String(cell));
  const share =
    bar === undefined || typeof cell !== "number" ? 0 : Math.max(0, Math.min(1, cell / most));
  return (
    <span
      role="gridcell"
      class={column.isNumber ? "num" : "text"}
      data-rest={column.isNumber ? restAfter(text, column.shown) || undefined : undefined}
      title={exact !== "" ? exact : text.length > LONG_TEXT ? text : undefined}
    >
      {share > 0 && (
        <i class="cell-bar" style={{ width: `${share * 100}%`, background: `var(${bar!})` }} />
      )}
      {branch !== null && <Twig branch={branch} onToggle={onToggle} />}
      {branch !== null ? (
        <span class="tree-text">
          <Name text={text} beside={indentOf(branch.row.depth) + TWIG_PX} />
        </span>
      ) : (
        <Name text={text} beside={0} />
      )}
    </span>
  );
}

/** A long name gives way in its middle; what is copied is all of it. `beside`: pixels of the cell that it has not. */
function Name({ text, beside }: { text: string; beside: number }) {
  return isLongName(text) ? (
    <>
      <span class="cell-head" style={{ maxWidth: `calc(100% - ${tailPx(text) + beside}px)` }}>
        {text.slice(0, -TAIL)}
      </span>
      {text.slice(-TAIL)}
    </>
  ) : (
    <>{text}</>
  );
}

/** How deep the row is in its tree, and the button that opens it; with Shift all that is below. */
function Twig({ branch, onToggle }: Pick<GridCellProps, "onToggle"> & { branch: Branch }) {
  const word = t(branch.isOpen ? "table.close" : "table.open");
  return (
    <>
      <i class="indent" style={{ width: `${indentOf(branch.row.depth)}px` }} />
      {branch.row.hasChildren ? (
        <button
          type="button"
          class="flat tiny"
          tabIndex={-1}
          aria-label={word}
          title={word + inBrackets(t("table.deep"))}
          onClick={(e) => (e.stopPropagation(), onToggle(!branch.isOpen, e.shiftKey))}
        >
          <Icon name={branch.isOpen ? "down" : "right"} />
        </button>
      ) : (
        <i class="indent" style={{ width: `${TWIG_PX}px` }} />
      )}
    </>
  );
}
