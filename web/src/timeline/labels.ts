/** What is written on a slice: name and duration where both fit, else the name, else its beginning and its end, else its beginning. */
import { duration } from "../base/time";
import type { Item } from "../model/lanes";
import { t } from "../words";

/** What a row of the tree is called. */
export const nameOf = ({ kind, label, hidden }: Item): string =>
  kind === "idle"
    ? t("timeline.idle", hidden.length)
    : kind === "host" && label === ""
      ? t("timeline.no-host")
      : label;

export const ELLIPSIS = "\u2026";
/** Room beside the text. */
const PAD = 3;
/** A beginning shorter than this says nothing. */
const LEAST_CHARS = 3;
/** From so many characters on the end is kept, too: names of kernels differ there. */
const MIDDLE_CHARS = 12;
const BETWEEN = "  ";

/** Widths of texts as the sum of their characters: each is measured once. */
export class TextWidths {
  private readonly ascii = new Float32Array(128).fill(-1);
  private readonly others = new Map<string, number>();

  constructor(private readonly measure: (char: string) => number) {}

  ofChar(text: string, i: number): number {
    const code = text.charCodeAt(i);
    if (code < 128) {
      let width = this.ascii[code];
      if (width < 0) {
        width = this.ascii[code] = this.measure(text[i]);
      }
      return width;
    }
    const char = text[i];
    let width = this.others.get(char);
    if (width === undefined) {
      this.others.set(char, (width = this.measure(char)));
    }
    return width;
  }

  of(text: string): number {
    let sum = 0;
    for (let i = 0; i < text.length; i++) {
      sum += this.ofChar(text, i);
    }
    return sum;
  }

  /** How many characters of a text are at most `room` wide. */
  charsIn(text: string, room: number): number {
    let sum = 0;
    for (let i = 0; i < text.length; i++) {
      sum += this.ofChar(text, i);
      if (sum > room) {
        return i;
      }
    }
    return text.length;
  }
}

/** The text for `room` pixels, "" when there is too little. `count` > 1: several slices, the longest of which has the name. */
export function labelFor(
  name: string,
  durNs: number,
  count: number,
  room: number,
  widths: TextWidths,
): string {
  const inside = room - 2 * PAD;
  const width = widths.of(name);
  if (width <= inside) {
    const more = count > 1 ? `${BETWEEN}\u00d7 ${count}` : BETWEEN + duration(durNs);
    return width + widths.of(more) <= inside ? name + more : name;
  }
  return nameFor(name, inside, widths);
}

/** As much of a name as says something, "" when that is nothing. */
export function nameFor(name: string, inside: number, widths: TextWidths): string {
  if (widths.of(name) <= inside) {
    return name;
  }
  const ellipsis = widths.of(ELLIPSIS);
  let chars = widths.charsIn(name, inside - ellipsis);
  if (chars >= MIDDLE_CHARS && /^[\x20-\x7e]*$/.test(name)) {
    return cutMiddle(name, inside, widths);
  }
  // Half of a pair of surrogates is no character.
  if (chars > 0 && /[\ud800-\udbff]/.test(name[chars - 1])) {
    chars--;
  }
  return chars < LEAST_CHARS ? "" : name.slice(0, chars) + ELLIPSIS;
}

/** What a counter is called below a row that says the first part: "LLC 0 Read" below "LLC" is "0 Read". */
export function withoutParent(label: string, parent: string): string {
  const rest = parent !== "" && label.startsWith(parent) ? label.slice(parent.length) : "";
  return /^[ _/[]+\S/.test(rest) ? rest.replace(/^[ _/[]+/, "") : label;
}

/** Cut in the middle, for names of lanes: "Group grou\u2026p_dp0 Communication" keeps what tells it from others. */
export function cutMiddle(text: string, room: number, widths: TextWidths): string {
  if (widths.of(text) <= room) {
    return text;
  }
  let inside = room - widths.of(ELLIPSIS);
  let head = 0;
  let tail = text.length;
  while (head < tail) {
    const fromHead = head <= text.length - tail;
    const width = widths.ofChar(text, fromHead ? head : tail - 1);
    if (width > inside) {
      break;
    }
    inside -= width;
    if (fromHead) {
      head++;
    } else {
      tail--;
    }
  }
  return text.slice(0, head) + ELLIPSIS + text.slice(tail);
}
