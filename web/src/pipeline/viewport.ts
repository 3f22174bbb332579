/** Which times are on screen. Screen pixels are CSS pixels from the plot's left edge. */

const MIN_WINDOW_NS = 200;

export class Viewport {
  startNs = 0;
  nsPerPx = 1;
  private endNs = 1;
  private width = 1;

  get stopNs(): number {
    return this.startNs + this.width * this.nsPerPx;
  }

  get isFit(): boolean {
    return this.nsPerPx >= (this.endNs / this.width) * (1 - 1e-9);
  }

  /** Everything. */
  fit(endNs: number, width: number): void {
    this.endNs = Math.max(1, endNs);
    this.width = Math.max(1, width);
    this.startNs = 0;
    this.nsPerPx = this.endNs / this.width;
  }

  /** Another chart of that length, in the window that is shown as far as it has it. */
  bound(endNs: number, width: number): void {
    const wasFit = this.isFit;
    this.endNs = Math.max(1, endNs);
    if (wasFit || width !== this.width) {
      this.fit(endNs, width);
    } else {
      this.clamp();
    }
  }

  /** Keeps the times at both edges where the window was zoomed in. */
  resize(width: number): void {
    const span = this.stopNs - this.startNs;
    this.width = Math.max(1, width);
    this.nsPerPx = span / this.width;
    this.clamp();
  }

  x(ns: number): number {
    return (ns - this.startNs) / this.nsPerPx;
  }

  ns(x: number): number {
    return this.startNs + x * this.nsPerPx;
  }

  pan(px: number): void {
    this.startNs += px * this.nsPerPx;
    this.clamp();
  }

  /** factor > 1 shows less; the time at x stays where it is. */
  zoom(factor: number, x: number): void {
    const fixed = this.ns(x);
    const least = Math.min(MIN_WINDOW_NS, this.endNs) / this.width;
    this.nsPerPx = Math.min(this.endNs / this.width, Math.max(least, this.nsPerPx / factor));
    this.startNs = fixed - x * this.nsPerPx;
    this.clamp();
  }

  show(fromNs: number, toNs: number): void {
    const span = Math.max(toNs - fromNs, Math.min(MIN_WINDOW_NS, this.endNs));
    this.nsPerPx = span / this.width;
    this.startNs = fromNs;
    this.clamp();
  }

  private clamp(): void {
    this.nsPerPx = Math.min(this.nsPerPx, this.endNs / this.width);
    this.startNs = Math.max(0, Math.min(this.startNs, this.endNs - this.width * this.nsPerPx));
  }
}
