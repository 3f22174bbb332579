/** A table by its columns: numbers as they are, of texts the different ones and which of them each row has. Tables of a thousand ranks have
 * tens of thousands of rows: each page of them is taken over while the next one is on its way, and what is drawn at the end is worked out
 * over numbers alone. */
import type { Params } from "../api/client";
import type { Cell, Table } from "../api/types";
import { IN_BYTES } from "../base/format";
import { columnIndex, eachPage, IN_NS, inOrder } from "./data";

/** The different texts of a column, and by row which of them stands there. The first is "", of cells with nothing. */
export interface Texts {
  words: readonly string[];
  at: Uint32Array;
}

/** Of one column: a cell is a number, or one of the texts. */
class Cells {
  readonly numbers: Float64Array;
  readonly at: Uint32Array;
  readonly words = [""];
  private readonly known = new Map<Cell, number>();
  hasNumbers = false;

  constructor(length: number) {
    this.numbers = new Float64Array(length).fill(NaN);
    this.at = new Uint32Array(length);
  }

  set(row: number, cell: Cell): void {
    if (typeof cell === "number") {
      this.numbers[row] = cell;
      this.hasNumbers = true;
    } else if (cell !== null) {
      this.at[row] = this.place(cell);
    }
  }

  /** Numbers too. */
  texts(): Texts {
    if (this.hasNumbers) {
      this.numbers.forEach((value, row) => {
        if (!Number.isNaN(value)) {
          this.at[row] = this.place(value);
        }
      });
    }
    return this;
  }

  private place(cell: Cell): number {
    let place = this.known.get(cell);
    if (place === undefined) {
      place = this.words.push(String(cell)) - 1;
      this.known.set(cell, place);
    }
    return place;
  }
}

export class Columns {
  private readonly cells: Cells[];
  /** Rows that are here. */
  length = 0;

  /** The first page of a table, of which `room` rows come. */
  constructor(
    private readonly head: Table,
    private readonly room = head.total,
  ) {
    this.cells = head.columns.map(() => new Cells(room));
  }

  static of(table: Table): Columns {
    const all = new Columns(table, table.rows.length);
    all.add(table.rows);
    return all;
  }

  get notes(): readonly string[] {
    return this.head.notes ?? [];
  }

  /** The next rows. */
  add(rows: readonly Cell[][]): void {
    this.cells.forEach((cells, column) =>
      rows.forEach((row, i) => cells.set(this.length + i, row[column] ?? null)),
    );
    this.length = Math.min(this.room, this.length + rows.length);
  }

  /** Of the first column that has one of these names, as `reader` finds it. */
  texts(...names: string[]): Texts {
    const found = this.find(names)?.texts() ?? { words: [""], at: new Uint32Array(this.room) };
    return { words: found.words, at: found.at.subarray(0, this.length) };
  }

  /** NaN: there is none. */
  numbers(...names: string[]): Float64Array {
    return this.scaled({}, names);
  }

  ns(...names: string[]): Float64Array {
    return this.scaled(IN_NS, names);
  }

  bytes(...names: string[]): Float64Array {
    return this.scaled(IN_BYTES, names);
  }

  /** Different texts of a column, in the order in which people count. */
  choices(...names: string[]): string[] {
    return inOrder(this.texts(...names).words.slice(1));
  }

  private find(names: readonly string[]): Cells | undefined {
    return this.cells[columnIndex(this.head, ...names)];
  }

  private scaled(units: Record<string, number>, names: readonly string[]): Float64Array {
    const at = columnIndex(this.head, ...names);
    const unit = units[this.head.columns[at]?.[2] ?? ""] ?? 1;
    const found = this.cells[at]?.numbers ?? new Float64Array(this.room).fill(NaN);
    const own = found.subarray(0, this.length);
    return unit === 1 ? own : own.map((value) => value * unit);
  }
}

/** A table of an analysis, as `modeTable` asks for it. */
export async function modeColumns(
  mode: string,
  name: string,
  params: Params,
  signal: AbortSignal,
): Promise<Columns | null> {
  let out: Columns | null = null as Columns | null;
  await eachPage("mode", { ...params, name: mode, table: name }, name, signal, (page) => {
    out ??= new Columns(page);
    out.add(page.rows);
  });
  return out;
}

/** Which of the texts something holds for. */
export const whichOf = (texts: Texts, holds: (word: string) => boolean): Uint8Array =>
  Uint8Array.from(texts.words, (word) => Number(holds(word)));
