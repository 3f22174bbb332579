/** What is written on a block: its name, or less of it, and never a part of a number. */
import type { Label } from "./model";

/** From the longest to the shortest. */
export function candidates(label: Label): string[] {
  const list: string[] = [];
  const hasNumber = /\d/.test(label.name);
  if (!hasNumber && label.microbatch >= 0 && label.name.length > 0 && label.name.length <= 2) {
    list.push(String(label.microbatch)); // "FP" says less than its microbatch
  }
  list.push(label.name);
  const numbers = label.name.match(/\d+/g);
  if (numbers !== null && /^\d+[A-Za-z]*(\+\d+[A-Za-z]*)?$/.test(label.name)) {
    const short = numbers.join("+");
    if (short !== label.name) {
      list.push(short);
    }
  } else if (label.microbatch >= 0 && !list.includes(String(label.microbatch))) {
    list.push(label.microbatch2 >= 0 ? `${label.microbatch}+${label.microbatch2}` : String(label.microbatch));
  }
  return list.filter((text) => text.length > 0);
}

/** The first candidate that is at most `room` wide, or "". */
export function fit(texts: string[], room: number, width: (text: string) => number): string {
  for (const text of texts) {
    if (width(text) <= room) {
      return text;
    }
  }
  return "";
}

/** Whether full names are shown: when they fit on most of the blocks that have room for any text, so that one picture does not
 * mix "9B" and "10". Counts over all blocks of a look. */
export class NameChoice {
  private readonly full = new Uint32Array(32);
  private readonly any = new Uint32Array(32);

  count(look: number, texts: string[], room: number, width: (text: string) => number): void {
    if (texts.length > 1 && width(texts[texts.length - 1]!) <= room) {
      this.any[look]!++;
      this.full[look]! += width(texts[0]!) <= room ? 1 : 0;
    }
  }

  /** The texts that may be used for blocks of this look. */
  of(look: number, texts: string[]): string[] {
    return this.full[look]! * 5 < this.any[look]! * 4 && texts.length > 1 ? texts.slice(1) : texts;
  }
}
