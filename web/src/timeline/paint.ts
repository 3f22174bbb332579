/** Rows of slices as pixels, without a canvas: one line of pixels a row, copied down.
 *
 * Two coordinate spaces: buckets of a tile and device pixels of the image. Slices of at least two pixels are drawn as
 * themselves, their edges at the nearest pixels. Of thinner ones each pixel shows the one that covers most of it, as strong
 * as all of them cover it: nothing vanishes, however short. */
import { mix } from "../base/theme";
import type { LaneTile } from "../model/tiles";
import type { Matches } from "./matches";
import { LOOK_INSTANT } from "./palette";

/** Slices wider than this (CSS pixels) leave one to the next. */
const GAP_FROM = 3;
/** Weakest density that is seen. */
const FAINT = 0.5;
/** A sign for an instant is so wide; closer ones become lines. */
const CHEVRON = 7;
/** Rows that may carry text have texts at least so wide (CSS pixels). */
export const LABEL_FROM = 26;

/** Where a tile lies: pixel of bucket b is at + b * perBucket; only [clipFrom, clipTo) is drawn. */
export interface TilePlace {
  at: number;
  perBucket: number;
  clipFrom: number;
  clipTo: number;
}

/** Names to write, gathered while painting; columns are reused from frame to frame. */
export class LabelList {
  n = 0;
  private readonly most = 6000;
  readonly x0 = new Float32Array(this.most);
  readonly x1 = new Float32Array(this.most);
  readonly y = new Float32Array(this.most);
  readonly durNs = new Float64Array(this.most);
  readonly name = new Uint32Array(this.most);
  readonly look = new Uint8Array(this.most);
  readonly count = new Uint32Array(this.most);
  readonly rank = new Uint16Array(this.most);
  /** 1: its slice steps back. */
  readonly isDim = new Uint8Array(this.most);

  add(
    x0: number,
    x1: number,
    y: number,
    durNs: number,
    name: number,
    look: number,
    count: number,
    rank: number,
    isDim: boolean,
  ): void {
    const at = this.n;
    if (at < this.most) {
      this.x0[at] = x0;
      this.x1[at] = x1;
      this.y[at] = y;
      this.durNs[at] = durNs;
      this.name[at] = name;
      this.look[at] = look;
      this.count[at] = count;
      this.rank[at] = rank;
      this.isDim[at] = isDim ? 1 : 0;
      this.n++;
    }
  }
}

export class RowPainter {
  /** The line of pixels being made. */
  readonly line: Uint32Array;
  private readonly cover: Float32Array;
  /** Of the entry that covers most of a pixel. */
  private readonly strongest: Float32Array;
  private readonly colour: Uint32Array;
  private chevronX = new Int32Array(4096);
  private chevronColour = new Uint32Array(4096);
  nChevrons = 0;
  private lastChevron = -CHEVRON;
  private thinFrom = 0;
  private thinTo = 0;
  private ground = 0;
  /** Slices and densities drawn since it was set to 0. */
  nDrawn = 0;
  /** Instants are left out. */
  hideInstants = false;
  /** Names that do not step back, while something is searched for; others are drawn with `faint`. */
  matches: Matches | null = null;
  faint: Uint32Array = new Uint32Array(0);
  /** The colours that add() is given are those of what steps back. */
  isDim = false;
  /** What add() writes labels with: where, and the row's middle; null: none. */
  labels: LabelList | null = null;
  labelY = 0;
  labelRank = 0;
  bucketNs = 1;

  constructor(
    readonly width: number,
    readonly scale: number,
  ) {
    this.line = new Uint32Array(width);
    this.cover = new Float32Array(width + 2);
    this.strongest = new Float32Array(width + 2);
    this.colour = new Uint32Array(width + 2);
  }

  begin(ground: number): void {
    this.ground = ground;
    this.line.fill(ground);
    this.nChevrons = 0;
    this.lastChevron = -1e9;
    this.thinFrom = this.width;
    this.thinTo = 0;
  }

  /** Entries [from, to) of a row of a tile. `isFirst`: no tile to the left of it is drawn. */
  add(
    tile: LaneTile,
    from: number,
    to: number,
    place: TilePlace,
    plain: Uint32Array,
    isFirst: boolean,
  ): void {
    const { start, end, look, busy, count } = tile;
    const { matches, faint } = this;
    let isDim = this.isDim;
    let colours = plain;
    const { at, perBucket, clipFrom, clipTo } = place;
    const gapFrom = GAP_FROM * this.scale;
    const labelFrom = LABEL_FROM * this.scale;
    const line = this.line;
    let i = firstEndingAfter(end, from, to, (clipFrom - at) / perBucket);
    for (; i < to; i++) {
      let x0 = at + start[i] * perBucket;
      if (x0 >= clipTo) {
        break;
      }
      let x1 = at + end[i] * perBucket;
      if (matches !== null) {
        isDim = !matches.is(tile.name[i]);
        colours = isDim ? faint : plain;
      }
      if (look[i] === LOOK_INSTANT || start[i] === end[i]) {
        if (x0 >= clipFrom && !this.hideInstants) {
          this.instant(x0, colours[look[i]], count[i]);
        }
        continue;
      }
      if (x1 <= clipFrom) {
        continue;
      }
      this.nDrawn++;
      const whole = x1 - x0;
      x0 = x0 < clipFrom ? clipFrom : x0;
      x1 = x1 > clipTo ? clipTo : x1;
      if (whole < 2) {
        this.thin(x0, x1, busy[i] / 255, colours[look[i]]);
        continue;
      }
      let colour = colours[look[i]];
      if (count[i] > 1 && busy[i] < 255) {
        colour = mix(colour, this.ground, FAINT + ((1 - FAINT) * busy[i]) / 255);
      }
      const a = Math.round(x0);
      let b = Math.round(x1);
      if (whole > gapFrom && b - a > 1 && x1 < clipTo) {
        b -= 1;
      }
      if (b - a > 24) {
        line.fill(colour, a, b);
      } else {
        for (let px = a; px < b; px++) {
          line[px] = colour;
        }
      }
      if (this.labels !== null && (start[i] >= 0 || isFirst)) {
        // As far as it goes in the tiles to the right.
        const end1 = at + end[i] * perBucket;
        const right = end1 < this.width ? end1 : this.width;
        if (right - x0 < labelFrom) {
          continue;
        }
        this.labels.add(
          x0,
          right,
          this.labelY,
          (end[i] - start[i]) * this.bucketNs,
          tile.name[i],
          look[i],
          count[i],
          this.labelRank,
          isDim,
        );
      }
    }
  }

  private thin(x0: number, x1: number, share: number, colour: number): void {
    let px = Math.floor(x0);
    if (px < 0) {
      px = 0;
    }
    this.thinFrom = px < this.thinFrom ? px : this.thinFrom;
    for (let left = x0; px < this.width; px++) {
      const right = x1 < px + 1 ? x1 : px + 1;
      const part = (right - left) * share;
      this.cover[px] += part;
      if (part >= this.strongest[px]) {
        this.strongest[px] = part;
        this.colour[px] = colour;
      }
      left = px + 1;
      if (x1 <= left) {
        break;
      }
    }
    this.thinTo = px + 1 > this.thinTo ? px + 1 : this.thinTo;
  }

  private instant(x: number, colour: number, count: number): void {
    this.nDrawn++;
    const px = Math.floor(x);
    if (px < 0 || px >= this.width) {
      return;
    }
    if (
      count === 1 &&
      px - this.lastChevron >= CHEVRON * this.scale &&
      this.nChevrons < this.chevronX.length
    ) {
      this.chevronX[this.nChevrons] = px;
      this.chevronColour[this.nChevrons++] = colour;
      this.lastChevron = px;
    } else {
      this.thin(px, px + 0.7, 1, colour);
    }
  }

  /** The densities between what is drawn whole; then the line can be copied. */
  finish(): void {
    const { cover, strongest, colour, line, ground } = this;
    for (let px = this.thinFrom; px < this.thinTo && px < this.width; px++) {
      const share = cover[px];
      if (share > 0 || strongest[px] > 0 || colour[px] !== 0) {
        if (line[px] === ground) {
          line[px] = mix(colour[px], ground, share >= 1 ? 1 : FAINT + (1 - FAINT) * share);
        }
        cover[px] = 0;
        strongest[px] = 0;
        colour[px] = 0;
      }
    }
  }

  /** The line into rows [y0, y1) of an image, and the signs of instants on top of it. */
  copy(pixels: Uint32Array, y0: number, y1: number): void {
    const { width, line } = this;
    for (let y = y0; y < y1; y++) {
      pixels.set(line, y * width);
    }
    const height = Math.min(Math.round(8 * this.scale), y1 - y0);
    const half = Math.round((CHEVRON * this.scale) / 2);
    for (let i = 0; i < this.nChevrons; i++) {
      this.chevron(pixels, this.chevronX[i], y0, height, half, this.chevronColour[i]);
    }
  }

  /** A point at the top, two strokes down to both sides. */
  private chevron(
    pixels: Uint32Array,
    x: number,
    y0: number,
    height: number,
    half: number,
    colour: number,
  ): void {
    const thick = Math.max(2, Math.round(2 * this.scale));
    for (let dy = 0; dy < height; dy++) {
      const reach = (dy * half) / height;
      for (let side = -1; side <= 1; side += 2) {
        for (let k = 0; k < thick; k++) {
          const px = Math.round(x + side * (reach - k / 2));
          if (px >= 0 && px < this.width) {
            pixels[(y0 + dy) * this.width + px] = colour;
          }
        }
      }
    }
  }
}

/** First entry of [from, to) that ends after a bucket. Ends grow within a row, since its slices do not overlap. */
export function firstEndingAfter(
  end: Float32Array,
  from: number,
  to: number,
  bucket: number,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[middle] < bucket) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** A bar of how busy each bucket is: `busy` of a tile of coverage. */
export function addCoverage(
  line: Uint32Array,
  width: number,
  busy: Uint8Array,
  place: TilePlace,
  colour: number,
  ground: number,
): void {
  const from = Math.max(0, Math.floor(place.clipFrom));
  const to = Math.min(width, Math.ceil(place.clipTo));
  for (let px = from; px < to; px++) {
    // How busy the buckets are that a pixel meets, in the mean: gaps too short for a pixel make it fainter.
    let first = Math.floor((px - place.at) / place.perBucket);
    let last = Math.ceil((px + 1 - place.at) / place.perBucket);
    first = first < 0 ? 0 : first;
    last = last > busy.length ? busy.length : last;
    let sum = 0;
    for (let b = first; b < last; b++) {
      sum += busy[b];
    }
    if (sum > 0) {
      line[px] = mix(colour, ground, 0.2 + (0.8 * sum) / (255 * (last - first)));
    }
  }
}
