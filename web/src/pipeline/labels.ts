/** What is written on a block: which of the texts that the program made of its name (src/write/chart/block_text.h). */

/** From most to least: the full name ("7F+13B"), that without its letters ("7+13"), and this in two lines where a block is high enough. */
export const LEVELS = 3;
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

/** Widths that differ by no more look alike. */
const ALIKE = 1.25;
const LOOKS = 32;

/** Makes one picture of one piece, by look: the first level that fits on four of five blocks that hold any text is the first
 * for all ("9B" does not stand beside "10"). The others have the first level all names of which fit on the narrowest of those that
 * look as wide in their row ("8+14" does not stand beside "14F+0B" as its B is a pixel wider than an F). */
export class NameChoice {
  private readonly fits: Uint32Array[] = Array.from(
    { length: LEVELS },
    () => new Uint32Array(LOOKS),
  );
  private readonly needs: Float64Array[] = Array.from(
    { length: LEVELS },
    () => new Float64Array(LOOKS),
  );
  /** Room of the blocks of a look in a row; of those that look as wide the least, once they are asked for. */
  private readonly rooms = new Map<number, number[]>();
  private readonly leasts = new Map<number, number[]>();

  constructor(private readonly stop: number) {}

  /** A block of this look that has room for `room`. */
  count(
    row: number,
    look: number,
    texts: string[],
    room: number,
    width: (line: string) => number,
  ): void {
    let fitted = false;
    for (let i = 0; i < this.stop; i++) {
      const need = widest(texts[i], width);
      fitted = fitted || (texts[i] !== "" && need <= room);
      this.needs[i][look] = Math.max(this.needs[i][look], need);
      this.fits[i][look] += fitted ? 1 : 0;
    }
    const key = row * LOOKS + look;
    const there = this.rooms.get(key);
    if (there === undefined) {
      this.rooms.set(key, [room]);
    } else {
      there.push(room);
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

  /** From which level on a block may be named. */
  level(row: number, look: number, room: number): number {
    const least = this.leastOf(row * LOOKS + look, room);
    let level = this.first(look);
    while (level < this.stop - 1 && this.needs[level][look] > least) {
      level++;
    }
    return level;
  }

  private leastOf(key: number, room: number): number {
    let leasts = this.leasts.get(key);
    if (leasts === undefined) {
      leasts = [];
      for (const next of (this.rooms.get(key) ?? []).sort((a, b) => a - b)) {
        if (leasts.length === 0 || next > leasts[leasts.length - 1] * ALIKE) {
          leasts.push(next);
        }
      }
      this.leasts.set(key, leasts);
    }
    return leasts.reduce((found, least) => (least <= room ? least : found), room);
  }
}
