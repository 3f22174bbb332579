/** Widths of columns, and scrolling through more rows than a browser has pixels for. */
import { context, FONT } from "../base/dom";
import type { Cell } from "../api/types";
import { restAfter } from "../base/format";
import { indentOf, type Column } from "./table_model";

export const ROW_PX = 24;
/** Browsers clip elements somewhere above 16 million pixels. */
const MOST_PX = 8_000_000;
const PADDING = 17;
/** Of the button that opens a row of a tree, or its place. */
export const TWIG_PX = 20;
/** Between a head's name and its unit, and its edge. */
const HEAD_GAP = 6;
const MOST_TEXT = 360;
/** Less of a name tells nothing apart. */
const LEAST_TEXT = 140;
/** Where the table scrolls to the side anyway, names are read rather than squeezed. */
const SCROLLED_TEXT = 240;
/** More for names that are indented. */
const MOST_INDENT = 140;

let pen: CanvasRenderingContext2D | null = null;

function widthOf(text: string): number {
  pen ??= context(document.createElement("canvas"));
  pen.font = `12px ${FONT}`;
  return pen.measureText(text).width;
}

/** Names differ at their ends, sentences do not: they begin with what they say. */
const LONG_NAME = 21;
const WORD = 8;
export const TAIL = 8;
export const isLongName = (text: string): boolean =>
  text.length >= LONG_NAME &&
  /^[\x20-\x7e]*$/.test(text) &&
  text.length >= WORD * text.trim().split(/\s+/).length;

const tails = new Map<string, number>();
const MOST_TAILS = 10_000;

/** What the end of a long name takes, so that there is no hole between it and the dots. */
export function tailPx(text: string): number {
  const tail = text.slice(-TAIL);
  let px = tails.get(tail);
  if (px === undefined) {
    if (tails.size >= MOST_TAILS) {
      tails.clear();
    }
    px = Math.ceil(widthOf(tail)) + 1;
    tails.set(tail, px);
  }
  return px;
}

/** The end of a long name has more room than it may need: with that much more nothing of it gives way. */
const tailRoom = (text: string): number =>
  isLongName(text) ? Math.max(0, tailPx(text) - widthOf(text.slice(-TAIL))) : 0;

/** A number as wide as it is shown: with the room of digits that others have behind their point, and each digit as wide as the widest. */
const digitsOf = (shown: string, column: Column): string =>
  (shown + restAfter(shown, column.shown)).replace(/\d/g, "0");

/** What each column needs, by name. `level`: the place of the column that says how deep a row is, where they are a tree. */
export function measure(
  columns: Column[],
  sample: Cell[][],
  headOf: (column: Column) => string,
  text: (row: Cell[], column: Column) => string,
  level = -1,
): Map<string, number> {
  const label = level < 0 ? undefined : columns.find((c) => !c.isNumber);
  const beside = (row: Cell[], column: Column): number =>
    column === label ? indentOf(Number(row[level])) + TWIG_PX : 0;
  return new Map(
    columns.map((column) => {
      const head =
        widthOf(headOf(column)) +
        (column.shown.unit === "" ? 0 : widthOf(` ${column.shown.unit}`)) +
        HEAD_GAP;
      const most = Math.max(
        head,
        ...sample.map((row) => {
          const shown = text(row, column);
          return column.isNumber
            ? widthOf(digitsOf(shown, column))
            : beside(row, column) + widthOf(shown.slice(0, 80)) + tailRoom(shown);
        }),
      );
      const limit = column.isNumber ? 240 : MOST_TEXT + (column === label ? MOST_INDENT : 0);
      return [column.name, Math.ceil(Math.max(56, Math.min(limit, most + PADDING)))];
    }),
  );
}

/** Fills the room that is left with the column of names, or the widest of text. Where there is too little, columns of text give way,
 * the widest first: numbers that are cut say nothing. That is of use only where it is enough: else all scrolls, with names that are read. */
export function fit(
  columns: Column[],
  measured: Map<string, number>,
  chosen: Record<string, number>,
  room: number,
): number[] {
  const widths = columns.map((c) => chosen[c.name] ?? measured.get(c.name) ?? 96);
  const left = Math.floor(room - widths.reduce((a, b) => a + b, 0));
  const free = columns.flatMap((c, i) => (!c.isNumber && chosen[c.name] === undefined ? [i] : []));
  const widest = [...free].sort((a, b) => widths[b] - widths[a] || a - b);
  const roomy = free.find((i) => columns[i].name === "name") ?? widest[0] ?? -1;
  if (left > 0 && roomy >= 0) {
    widths[roomy] += Math.min(left, 480);
  }
  const isEnough = leastOf(columns, measured, chosen) <= room;
  const least = isEnough ? LEAST_TEXT : SCROLLED_TEXT;
  let lack = isEnough ? -left : Infinity;
  for (const i of widest) {
    const given = Math.max(0, Math.min(lack, widths[i] - least));
    widths[i] -= given;
    lack -= given;
  }
  return widths;
}

/** What the columns need where text gives way as far as it does. */
export const leastOf = (
  columns: Column[],
  measured: Map<string, number>,
  chosen: Record<string, number>,
): number =>
  columns.reduce((sum, c) => {
    const width = measured.get(c.name) ?? 96;
    return sum + (chosen[c.name] ?? (c.isNumber ? width : Math.min(width, LEAST_TEXT)));
  }, 0);

/** What the scroller needs of the element that scrolls. */
export type Scrolled = Pick<HTMLElement, "scrollTop">;

/** Where the rows are scrolled to, in pixels of all rows under one another. The element is as high as it may be; where that is
 * less, its scrollbar stands for more, and the wheel still moves row by row.
 *
 * `at` and `top` are one place, among the rows and in the element. Whoever moves one sets both, `top` as the element took it; an
 * element that stands elsewhere than `top` was moved by somebody else, whatever events came or did not. */
export class Scroller {
  at = 0;
  spacePx = 0;
  private top = 0;
  private fullPx = 0;
  private viewPx = 0;

  constructor(private readonly moved: () => void) {}

  private get isScaled(): boolean {
    return this.fullPx > MOST_PX;
  }

  layout(fullPx: number, viewPx: number): void {
    this.fullPx = fullPx;
    this.viewPx = viewPx;
    this.spacePx = Math.min(fullPx, MOST_PX);
    this.at = Math.max(0, Math.min(this.at, fullPx - viewPx));
  }

  /** Of a place among all rows, in the element. */
  topOf(px: number): number {
    return this.isScaled ? this.top + (px - this.at) : px;
  }

  /** Pixels of all rows for one of the element. */
  private get scale(): number {
    return this.isScaled ? (this.fullPx - this.viewPx) / (this.spacePx - this.viewPx) : 1;
  }

  /** The element may have moved: by its scrollbar, keys or the wheel, or because it became shorter. */
  scrolled(element: Scrolled): void {
    if (element.scrollTop !== this.top) {
      this.top = element.scrollTop;
      this.at = Math.max(0, Math.min(this.top * this.scale, this.fullPx - this.viewPx));
      this.moved();
    }
  }

  wheel(e: WheelEvent, element: Scrolled): void {
    if (this.isScaled && !e.ctrlKey && !e.shiftKey && e.deltaY !== 0) {
      e.preventDefault();
      this.go(this.at + e.deltaY * (e.deltaMode === 1 ? ROW_PX : 1), element);
    }
  }

  toTop(element: Scrolled | null): void {
    if (element !== null) {
      this.go(0, element);
    } else {
      this.at = this.top = 0;
    }
  }

  reveal(fromPx: number, toPx: number, element: Scrolled | null): void {
    if (element !== null && fromPx < this.at) {
      this.go(fromPx, element);
    } else if (element !== null && toPx > this.at + this.viewPx) {
      this.go(toPx - this.viewPx, element);
    }
  }

  private go(px: number, element: Scrolled): void {
    const at = Math.max(0, Math.min(px, this.fullPx - this.viewPx));
    element.scrollTop = at / this.scale;
    this.top = element.scrollTop;
    this.at = this.isScaled ? at : this.top;
    this.moved();
  }
}
