/** Ticks of the axis and how a time of it is written. */
import type { Ns } from "../base/ns";
import { axisFor, duration, ticksIn, tickText, type Axis } from "../base/time";
import type { Viewport } from "../base/viewport";

export interface Tick {
  ns: number;
  text: string;
}

/** Ticks of a window; texts are relative to a base where the window is far smaller than what is before it ("+120 ns" after
 * "12.345 678 s"), so that they stay short. */
export interface Ticks {
  ticks: Tick[];
  /** What the ticks count from, "" when from the start. */
  base: string;
}

/** A window is written relative to a round time before it when that saves so many digits. */
const DIGITS = 7;

export function ticksOf(fromNs: number, nsPerPx: number, width: number): Ticks {
  const axis = axisFor(nsPerPx, width, 0);
  const { stepNs } = axis;
  const to = fromNs + nsPerPx * width;
  const furthest = Math.max(Math.abs(fromNs), Math.abs(to));
  const isFar = furthest / stepNs > 10 ** (DIGITS - 2);
  const baseNs = isFar ? Math.floor(fromNs / (stepNs * 10)) * stepNs * 10 : 0;
  const shown: Axis = isFar ? axis : axisFor(nsPerPx, width, furthest);
  const ticks = ticksIn(axis, fromNs, to).map((ns): Tick => {
    const text =
      isFar && ns !== baseNs
        ? `+${tickText(ns - baseNs, axis)} ${axis.unit.name}`
        : `${tickText(ns, shown)} ${shown.unit.name}`;
    return { ns, text: isFar && ns === baseNs ? "+0" : text };
  });
  return { ticks, base: isFar ? longTime(baseNs) : "" };
}

/** From a tick to its text. */
export const TICK_TEXT = 4;

/** Where the length of a span is written on the axis, in the middle of what is in sight of it and not cut by an edge; null: it is
 * out of sight. */
export function labelPlace(
  view: Viewport,
  from: Ns,
  to: Ns,
  room: number,
): { x0: number; x1: number } | null {
  const left = view.x(from);
  const right = view.x(to);
  if (right <= 0 || left >= view.width) {
    return null;
  }
  const middle = (Math.max(0, left) + Math.min(view.width, right)) / 2;
  const x0 = Math.max(0, Math.min(view.width - room, middle - room / 2));
  return { x0, x1: x0 + room };
}

/** Ticks of the axis; a text that an edge would cut, or that the length of the box (`label`) covers, is "". */
export function ticksBeside(
  view: Viewport,
  label: { x0: number; x1: number } | null,
  widthOf: (text: string) => number,
): { x: number; text: string }[] {
  return ticksOf(view.from, view.nsPerPx, view.width).ticks.map(({ ns, text }) => {
    const x = view.x(ns);
    const end = x + TICK_TEXT + widthOf(text);
    const isFree = label === null || end + TICK_TEXT < label.x0 || x > label.x1;
    return { x, text: isFree && end <= view.width && x + TICK_TEXT >= 0 ? text : "" };
  });
}

/** "12.345 678 901 s": all digits that a time of the view has, in groups. */
export function longTime(ns: number): string {
  const whole = Math.round(Math.abs(ns));
  const seconds = Math.floor(whole / 1e9);
  const rest = String(whole % 1e9)
    .padStart(9, "0")
    .replace(/(\d{3})(?=\d)/g, "$1\u2009");
  return `${ns < 0 ? "\u2212" : ""}${String(seconds).replace(/\B(?=(\d{3})+$)/g, "\u2009")}.${rest} s`;
}

/** A span as the axis says it: rounded, and in days and hours where it is that long. */
export function spanText(ns: number): string {
  if (ns < 10 && ns !== Math.round(ns)) {
    return `${ns.toFixed(2)} ns`;
  }
  if (ns >= 3600e9) {
    return `${(ns / 3600e9).toFixed(2)} h`;
  }
  return ns >= 120e9 ? `${(ns / 60e9).toFixed(1)} min` : duration(ns);
}
