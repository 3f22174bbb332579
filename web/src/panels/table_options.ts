/** What a table is told by those who show one. */
import type { ComponentChildren } from "preact";
import type { Cell, Table } from "../api/types";
import type { Query } from "./table_model";

/** A row, for those who are told of clicks. */
export interface TableRow {
  cells: Cell[];
  /** The cell of a column, null where there is no such column. */
  get: (column: string) => Cell;
}

export interface TableJump {
  /** Some rows may lead there. */
  isThere: boolean;
  can: (row: TableRow) => boolean;
  to: (row: TableRow) => void;
}

export interface TableOptions {
  /** Over the table; else the title that it has. "" for none. */
  title?: string;
  /** Names the table in files and remembers its columns; else the name that it has. */
  name?: string;
  /** Called with a row that was clicked, or on which Enter was pressed. */
  onRow?: (row: TableRow) => void;
  /** Called with the row under the pointer, null when it leaves. */
  onHover?: (row: TableRow | null) => void;
  /** The row that something else goes to has the cursor. `key` names it; `at`: where it is in the list as it came, should it not be here yet. */
  follow?: { key: string; is: (row: TableRow) => boolean; at: number } | undefined;
  /** Marks rows that something else has chosen. */
  isMarked?: (row: TableRow) => boolean;
  /** Key of the rank of rows that have no column `rank`. */
  rank?: string | undefined;
  /** What columns mean, by name, where words.ts does not say it. */
  hints?: Record<string, string>;
  /** What stands in a column `rank` for its text, a key or a label; else the label of the rank. */
  rankText?: (text: string) => string;
  /** What stands in a column `name`, where the names are keys of the program's own. */
  nameOf?: (row: TableRow) => string;
  /** Columns that are hidden at first. */
  hidden?: string[];
  /** Columns that have a bar behind their numbers; the value is a colour variable ("--computing"). */
  bars?: Record<string, string>;
  sort?: { column: string; desc: boolean };
  /** By column, as typed. */
  filter?: Record<string, string>;
  onQuery?: (query: Query) => void;
  /** The address remembers order and filters under this key. */
  urlKey?: string;
  /** What stands there instead of no rows. */
  empty?: ComponentChildren;
  /** Rows at most before it scrolls by itself; not given: it fills the room that it has. */
  maxRows?: number;
  /** Every column is shown, by the name that it has, and none makes a tree. */
  isPlain?: boolean;
  /** Of a long tree the path that has most of that column is open at first; the row in which `key` is `chosen` always is in an open branch. */
  tree?: { heaviest: string[]; key: string; chosen: Cell };
  /** How rows lead to the timeline where no column `slice` says it. */
  jump?: TableJump;
  /** Tables of the same columns that this one is read against, itself among them: they have one unit in each column. */
  alike?: readonly Table[];
  /** Tells the page what came. */
  onTable?: (table: Table) => void;
}
