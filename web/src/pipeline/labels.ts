/** What is written on a block: its name, or less of it, and never a part of a number. */
import type { Label } from "./model";

/** From most to least: the full name, less of it, and both in two lines where a block is high enough. */
export const LEVELS = 4;
export const LEVELS_FLAT = 2;

/** The text of each level; a name without such a form keeps that of the level before. */
export function levels(label: Label): string[] {
  const { name, microbatch, microbatch2 } = label;
  const numbers = microbatch2 >= 0 ? `${microbatch}+${microbatch2}` : String(microbatch);
  const hasNumber = /\d/.test(name);
  // "FP" says less than its microbatch.
  const full = !hasNumber && microbatch >= 0 && name.length <= 2 ? numbers : name;
  let short = full;
  if (/^\d+[A-Za-z]*(\+\d+[A-Za-z]*)?$/.test(name)) {
    short = name.replace(/[A-Za-z]/g, "");
  } else if (!hasNumber && microbatch >= 0) {
    short = numbers;
  }
  const pair = /^\d+[A-Za-z]*\+\d+[A-Za-z]*$/;
  const lines = (text: string): string => (pair.test(text) ? text.replace("+", "\n") : text);
  return [full, short, pair.test(short) ? lines(full) : short, lines(short)];
}

/** Width of a text of one or two lines. */
export function widest(text: string, width: (line: string) => number): number {
  return Math.max(...text.split("\n").map(width));
}

/** The first of `texts` from `level` on that is at most `room` wide, or "". */
export function fit(
  texts: string[],
  level: number,
  stop: number,
  room: number,
  width: (line: string) => number,
): string {
  for (let i = level; i < stop; i++) {
    if (texts[i] !== "" && widest(texts[i], width) <= room) {
      return texts[i];
    }
  }
  return "";
}

/** Makes one picture of one piece, by look: the first level that fits on four of five blocks that hold any text is the first
 * for all ("9B" does not stand beside "10"); where fewer than four of five hold any, none does. */
export class NameChoice {
  private readonly fits: Uint32Array[] = Array.from({ length: LEVELS }, () => new Uint32Array(32));
  private readonly all = new Uint32Array(32);

  constructor(private readonly stop: number) {}

  /** A block of this look that has room for `room`. */
  count(look: number, texts: string[], room: number, width: (line: string) => number): void {
    this.all[look]++;
    let fitted = false;
    for (let i = 0; i < this.stop; i++) {
      fitted = fitted || (texts[i] !== "" && widest(texts[i], width) <= room);
      this.fits[i][look] += fitted ? 1 : 0;
    }
  }

  /** One without room for anything. */
  countTiny(look: number): void {
    this.all[look]++;
  }

  first(look: number): number {
    const any = this.fits[this.stop - 1][look];
    if (any * 5 < this.all[look] * 4) {
      return this.stop;
    }
    let level = 0;
    while (level < this.stop - 1 && this.fits[level][look] * 5 < any * 4) {
      level++;
    }
    return level;
  }
}
