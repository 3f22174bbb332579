/** Which times are on screen: of the timeline, its minimap, the pipeline chart, and drawings of spans.
 *
 * Two coordinate spaces: times (whichever origin the owner counts from) and CSS pixels from the plot's left edge. The start is kept
 * as a whole number of nanoseconds and a rest below one, so that windows of 1 ns are exact a hundred hours from the origin. */
import type { Ns } from "./ns";

export interface ViewportLimits {
  /** The closest zoom shows so much. */
  leastSpanNs: number;
  /** Room beside what is shown whole, as a share of it. */
  margin: number;
  /** At most this share of the window is beside what there is to see. */
  beyond: number;
}

/** For what has nothing beside it: a step, an operator. */
export const WITHIN: ViewportLimits = { leastSpanNs: 200, margin: 0, beyond: 0 };

/** Narrower slices have no name, and are not told from those beside them. */
const LEGIBLE_PX = 40;
/** So many times their length is then shown on both sides. */
const ROOM = 4;

export class Viewport {
  /** Whole nanoseconds, and the rest in [0, 1). */
  private whole = 0;
  private rest = 0;
  nsPerPx = 1;
  width = 1;
  /** What there is to see. */
  private least = 0;
  private most = 1;
  private wasSet = false;
  /** What is shown first, where that is not everything. */
  private first: { from: Ns; to: Ns } | null = null;
  /** The user asked for everything. */
  private isAll = false;

  constructor(
    private readonly limits: ViewportLimits = { leastSpanNs: 1, margin: 0.01, beyond: 0.5 },
  ) {}

  get from(): Ns {
    return this.whole + this.rest;
  }

  get span(): Ns {
    return this.width * this.nsPerPx;
  }

  get to(): Ns {
    return this.whole + (this.rest + this.span);
  }

  get extent(): { from: Ns; to: Ns } {
    return { from: this.least, to: this.most };
  }

  /** Whether a window was chosen; else it follows what there is to see. */
  get isChosen(): boolean {
    return this.wasSet;
  }

  /** Everything is in sight. */
  get isFit(): boolean {
    return this.span >= this.mostSpan * (1 - 1e-9);
  }

  x(ns: Ns): number {
    return (ns - this.whole - this.rest) / this.nsPerPx;
  }

  ns(x: number): Ns {
    return this.whole + (this.rest + x * this.nsPerPx);
  }

  /** The window grows with what there is to see until the user chooses one. */
  setExtent(least: Ns, most: Ns, first: { from: Ns; to: Ns } | null = null): void {
    this.least = least;
    this.most = Math.max(most, least + 1);
    this.first = first;
    if (!this.wasSet) {
      this.open();
    }
  }

  fit(): void {
    this.isAll = true;
    this.wasSet = false;
    this.open();
  }

  /** As before anybody chose a window. */
  home(): void {
    this.isAll = false;
    this.wasSet = false;
    this.open();
  }

  /** Everything was asked for, and is not what is shown first. */
  get isAllChosen(): boolean {
    return this.first !== null && this.isAll && !this.wasSet;
  }

  private open(): void {
    const { from, to } =
      this.first === null || this.isAll ? { from: this.least, to: this.most } : this.first;
    const margin = (to - from) * this.limits.margin;
    this.put(from - margin, to - from + 2 * margin);
  }

  /** Something else to see, in the same window as far as there is; everything where everything was in sight. */
  replaceExtent(least: Ns, most: Ns): void {
    const wasFit = this.isFit;
    this.setExtent(least, most);
    if (wasFit) {
      this.fit();
    } else {
      this.settle();
    }
  }

  /** Keeps the times at both edges. */
  resize(width: number): void {
    const span = this.span;
    this.width = Math.max(1, width);
    if (this.wasSet) {
      this.nsPerPx = span / this.width;
    } else {
      this.open();
    }
  }

  pan(px: number): void {
    this.wasSet = true;
    this.rest += px * this.nsPerPx;
    this.settle();
  }

  /** factor > 1 shows less; the time at x stays where it is. */
  zoom(factor: number, x: number): void {
    this.wasSet = true;
    const next = this.bounded(this.nsPerPx / factor);
    this.rest += x * (this.nsPerPx - next);
    this.nsPerPx = next;
    this.settle();
  }

  show(from: Ns, to: Ns): void {
    this.wasSet = true;
    this.put(from, to - from);
    this.settle();
  }

  /** With room on both sides. */
  showWithRoom(from: Ns, to: Ns, room = 0.15): void {
    const span = Math.max(to - from, this.limits.leastSpanNs);
    this.show(from - span * room, to + span * room);
  }

  /** Moves as little as is needed to see a time, at best with its end; the zoom stays. */
  reveal(from: Ns, to: Ns): void {
    if (to - from > this.span) {
      this.showWithRoom(from, to);
    } else if (from < this.from || to > this.to) {
      const middle = from + (to - from) / 2;
      this.showInside(middle - this.span / 2, middle + this.span / 2);
    }
  }

  /** To a slice that something leads to: what is legible in this window leaves it as it is, or moves it as little as is needed; what is
   * too narrow for that is shown with some room around. */
  leadTo(from: Ns, to: Ns): void {
    const length = to - from;
    if (length > 0 && length / this.nsPerPx < LEGIBLE_PX) {
      this.showInside(from - length * ROOM, to + length * ROOM);
    } else {
      this.reveal(from, to);
    }
  }

  /** As show(), but moved so that no more than the margin lies beside what there is to see: nobody asked to look there. */
  showInside(from: Ns, to: Ns): void {
    const span = to - from;
    const margin = span * this.limits.margin;
    const first = this.least - margin;
    const last = this.most + margin - span;
    const isOfIt = from + span / 2 >= this.least && from + span / 2 <= this.most;
    const start = isOfIt ? Math.max(first, Math.min(from, last)) : from;
    this.show(start, start + span);
  }

  /** A time in the middle; the zoom stays, unless there is no more room to move. */
  centre(at: Ns): void {
    const half = Math.min(this.span, (this.most - this.least) / 4) / 2;
    this.showInside(at - half, at + half);
  }

  /** What a window of everything spans. */
  private get mostSpan(): Ns {
    return (this.most - this.least) * (1 + 2 * this.limits.margin);
  }

  private put(from: Ns, span: Ns): void {
    this.nsPerPx = this.bounded(span / this.width);
    const off = (span - this.nsPerPx * this.width) / 2;
    this.moveTo(from, off);
  }

  private bounded(nsPerPx: number): number {
    const least = Math.min(this.limits.leastSpanNs, this.mostSpan) / this.width;
    return Math.min(this.mostSpan / this.width, Math.max(least, nsPerPx));
  }

  private moveTo(from: Ns, rest = 0): void {
    this.whole = Math.floor(from);
    this.rest = from - this.whole + rest;
    this.carry();
  }

  private carry(): void {
    const whole = Math.floor(this.rest);
    this.whole += whole;
    this.rest -= whole;
  }

  private settle(): void {
    this.nsPerPx = Math.min(this.nsPerPx, this.mostSpan / this.width);
    this.carry();
    const beyond = this.span * this.limits.beyond;
    if (this.to > this.most + beyond) {
      this.moveTo(this.most + beyond - this.span);
    }
    if (this.from < this.least - beyond) {
      this.moveTo(this.least - beyond);
    }
  }
}

/** Windows that were left: Backspace goes back. Changes that follow one another at once count as one. */
export class ZoomHistory {
  private readonly past: { from: Ns; to: Ns }[] = [];
  private last = -Infinity;

  constructor(
    private readonly most = 10_000,
    private readonly togetherMs = 400,
  ) {}

  get n(): number {
    return this.past.length;
  }

  /** Before the window changes. */
  note(view: Viewport, nowMs: number): void {
    if (nowMs - this.last > this.togetherMs) {
      this.past.push({ from: view.from, to: view.to });
      if (this.past.length > this.most) {
        this.past.shift();
      }
    }
    this.last = nowMs;
  }

  undo(view: Viewport): boolean {
    const before = this.past.pop();
    this.last = -Infinity;
    if (before === undefined) {
      return false;
    }
    view.show(before.from, before.to);
    return true;
  }

  clear(): void {
    this.past.length = 0;
    this.last = -Infinity;
  }
}
