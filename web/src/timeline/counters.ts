/** A counter as a filled step line. Per pixel the largest value is kept, so that no peak is lost. */
import type { LaneNode } from "../api/types";
import type { CounterTile } from "../model/tiles";
import type { TilePlace } from "./paint";

export class CounterPainter {
  /** The largest and the smallest value in a pixel; NaN where none is known. */
  private high = new Float64Array(1);
  private low = new Float64Array(1);
  private width = 1;
  private held = NaN;
  least = 0;
  most = 0;

  resize(width: number): void {
    this.width = width;
    this.high = new Float64Array(width);
    this.low = new Float64Array(width);
  }

  begin(): void {
    this.high.fill(NaN);
    this.low.fill(NaN);
    this.held = NaN;
  }

  /** Tiles from left to right. A value holds until the next. */
  add(tile: CounterTile, place: TilePlace): void {
    let from = Math.max(0, Math.floor(place.clipFrom));
    const to = Math.min(this.width, Math.ceil(place.clipTo));
    for (let i = 0; i < tile.n; i++) {
      const x = place.at + tile.bucket[i] * place.perBucket;
      if (x >= place.clipTo) {
        break;
      }
      const px = Math.floor(x);
      if (px > from) {
        this.hold(from, Math.min(px, to));
        from = Math.min(px, to);
      }
      if (tile.bucket[i] >= 0 && px >= 0 && px < to && px >= Math.floor(place.clipFrom)) {
        this.set(px, tile.most[i], tile.least[i]);
      }
      this.held = tile.last[i];
    }
    this.hold(from, to);
  }

  private hold(from: number, to: number): void {
    if (!Number.isNaN(this.held)) {
      for (let px = from; px < to; px++) {
        this.set(px, this.held, this.held);
      }
    }
  }

  private set(px: number, most: number, least: number): void {
    this.high[px] = this.high[px] >= most ? this.high[px] : most;
    this.low[px] = this.low[px] <= least ? this.low[px] : least;
  }

  at(x: number): number {
    return this.high[Math.max(0, Math.min(this.width - 1, Math.floor(x)))];
  }

  /** Into lines [y0, y1) of the image, of a chart that takes [top, bottom). */
  paint(
    pixels: Uint32Array,
    top: number,
    bottom: number,
    y0: number,
    y1: number,
    ink: number,
    fill: number,
  ): void {
    this.scale();
    const room = bottom - top - 1;
    const span = this.most - this.least || 1;
    const zero = Math.round(bottom - 1 - ((0 - this.least) / span) * room);
    let before = -1;
    for (let px = 0; px < this.width; px++) {
      const value = this.high[px];
      if (Number.isNaN(value)) {
        before = -1;
        continue;
      }
      const y = Math.round(bottom - 1 - ((value - this.least) / span) * room);
      const depth = Math.round(bottom - 1 - ((this.low[px] - this.least) / span) * room);
      this.column(pixels, px, Math.min(y, zero), Math.max(y, zero) + 1, y0, y1, fill);
      // The line joins the step before, and shows how far values reach within the pixel.
      const from = before < 0 ? Math.min(y, depth) : Math.min(y, depth, before);
      const to = before < 0 ? Math.max(y, depth) : Math.max(y, depth, before);
      this.column(pixels, px, from, to + 1, y0, y1, ink);
      before = y;
    }
  }

  /** Of what is on screen, and always with zero. */
  private scale(): void {
    let least = Infinity;
    let most = -Infinity;
    for (let px = 0; px < this.width; px++) {
      most = this.high[px] > most ? this.high[px] : most;
      least = this.low[px] < least ? this.low[px] : least;
    }
    this.least = Math.min(0, Number.isFinite(least) ? least : 0);
    this.most = Math.max(0, Number.isFinite(most) ? most : 0);
  }

  private column(
    pixels: Uint32Array,
    px: number,
    from: number,
    to: number,
    y0: number,
    y1: number,
    colour: number,
  ): void {
    const stop = Math.min(to, y1) * this.width + px;
    for (let at = Math.max(from, y0) * this.width + px; at < stop; at += this.width) {
      pixels[at] = colour;
    }
  }
}

/** So many series can be told apart. */
const MOST_SERIES = 12;
/** Rates make a sum. Shares and frequencies do not, nor what was allocated with what was reserved. */
const OF_RATES = "/s";

/** Which of the rows below a group stand on top of one another while it is closed: counters that are rates of one unit (T-33). None: they do not. */
export function stackedOf(below: readonly Pick<LaneNode, "kind" | "unit" | "lane">[]): number[] {
  const isSum =
    below.length > 1 &&
    below.length <= MOST_SERIES &&
    below.every((n) => n.kind === "counter" && n.lane >= 0 && n.unit === below[0].unit);
  return isSum && below[0].unit.endsWith(OF_RATES) ? below.map((n) => n.lane) : [];
}

/** Several counters on top of one another, each with its largest value in a pixel: what they are together is at most the top. */
export class StackPainter {
  private tops: Float64Array[] = [];
  most = 0;

  begin(): void {
    this.tops = [];
    this.most = 0;
  }

  add(counter: CounterPainter, width: number): void {
    const below = this.tops[this.tops.length - 1];
    const top = new Float64Array(width);
    for (let px = 0; px < width; px++) {
      const value = counter.at(px);
      top[px] = (below?.[px] ?? 0) + (value > 0 ? value : 0);
      this.most = top[px] > this.most ? top[px] : this.most;
    }
    this.tops.push(top);
  }

  /** Into lines [y0, y1) of an image, of a chart that takes [top, bottom); the first one stands at the bottom. */
  paint(
    pixels: Uint32Array,
    top: number,
    bottom: number,
    y0: number,
    y1: number,
    colourOf: (series: number) => number,
  ): void {
    const room = bottom - top;
    const heightOf = (value: number): number =>
      this.most > 0 ? Math.round((value / this.most) * room) : 0;
    this.tops.forEach((own, series) => {
      const colour = colourOf(series);
      for (let px = 0; px < own.length; px++) {
        const from = Math.max(y0, bottom - heightOf(own[px]));
        const to = Math.min(y1, bottom - heightOf(this.tops[series - 1]?.[px] ?? 0));
        for (let y = from; y < to; y++) {
          pixels[y * own.length + px] = colour;
        }
      }
    });
  }
}
