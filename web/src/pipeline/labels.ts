/** What is written on a block: which of the texts that the program made of its name (src/write/chart/block_text.h). */

/** From most to least: the full name, less of it, and both in two lines where a block is high enough. */
export const LEVELS = 4;
export const LEVELS_FLAT = 2;

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
 * for all ("9B" does not stand beside "10"); of the others each has what fits. */
export class NameChoice {
  private readonly fits: Uint32Array[] = Array.from({ length: LEVELS }, () => new Uint32Array(32));

  constructor(private readonly stop: number) {}

  /** A block of this look that has room for `room`. */
  count(look: number, texts: string[], room: number, width: (line: string) => number): void {
    let fitted = false;
    for (let i = 0; i < this.stop; i++) {
      fitted = fitted || (texts[i] !== "" && widest(texts[i], width) <= room);
      this.fits[i][look] += fitted ? 1 : 0;
    }
  }

  first(look: number): number {
    const any = this.fits[this.stop - 1][look];
    let level = 0;
    while (level < this.stop - 1 && this.fits[level][look] * 5 < any * 4) {
      level++;
    }
    return level;
  }
}
