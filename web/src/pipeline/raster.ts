/** Lanes of blocks as pixels, without a canvas: a hundred thousand blocks take a few milliseconds, on any machine.
 *
 * Two coordinate spaces: time (ns from the view's origin) and device pixels of the image. A block of at least two pixels is
 * drawn as itself, its edges at the nearest pixels. Thinner ones form a run, and each pixel column of a run shows the
 * shares of time of its looks, stacked from the bottom: nothing vanishes, however short. */
import { firstAfter, type Lane } from "./rows";
import { mix } from "./theme";

const THIN = 2;
/** Thin blocks further apart than this belong to different runs. */
const RUN_GAP = 4;
/** Half of what shares are averaged over: without it neighbouring pixels flicker between the same few blocks. */
const CALM = 6;
const N_LOOKS = 16;

/** One character as coverage, 0..255. */
export interface Glyph {
  advance: number;
  width: number;
  mask: Uint8Array;
}

export interface Glyphs {
  height: number;
  get(char: string): Glyph;
}

export interface Scale {
  startNs: number;
  pxPerNs: number;
}

/** What a lane is painted with; all in device pixels. */
export interface Style {
  /** By look, as pixels. */
  colours: Uint32Array;
  /** Pixels between neighbours once they are wider than `gapFrom`. */
  gap: number;
  gapFrom: number;
  radius: number;
}

export class Raster {
  readonly pixels: Uint32Array;
  private readonly bins: Float64Array;
  private readonly sums: Float64Array;

  constructor(
    readonly width: number,
    readonly height: number,
    pixels?: Uint32Array,
  ) {
    this.pixels = pixels ?? new Uint32Array(width * height);
    this.bins = new Float64Array(width * N_LOOKS);
    this.sums = new Float64Array(width + 1);
  }

  fill(y: number, height: number, colour: number): void {
    this.pixels.fill(colour, y * this.width, (y + height) * this.width);
  }

  /** Clipped to the image. */
  rect(x: number, y: number, width: number, height: number, colour: number): void {
    const from = Math.max(0, x);
    const to = Math.min(this.width, x + width);
    for (let row = Math.max(0, y); row < Math.min(this.height, y + height) && from < to; row++) {
      this.pixels.fill(colour, row * this.width + from, row * this.width + to);
    }
  }

  /** Waiting: 0 rises, 1 is crossed, 2 falls, others are dotted. */
  hatch(lane: Lane, y: number, height: number, scale: Scale, colour: number, pitch: number): void {
    const endNs = scale.startNs + this.width / scale.pxPerNs;
    for (let i = firstAfter(lane, scale.startNs); i < lane.n && lane.start[i]! < endNs; i++) {
      const left = Math.round((lane.start[i]! - scale.startNs) * scale.pxPerNs);
      const from = Math.max(0, left);
      const to = Math.min(this.width, Math.round((lane.end[i]! - scale.startNs) * scale.pxPerNs));
      if (to - from < THIN) {
        continue;
      }
      const cause = lane.look[i]!;
      for (let row = 0; row < height; row++) {
        const base = (y + row) * this.width;
        if (cause <= 1) {
          this.dots(base, from, to, left - row, pitch, colour);
        }
        if (cause === 1 || cause === 2) {
          this.dots(base, from, to, left + row, pitch, colour);
        }
        if (cause > 2 && row % pitch === pitch >> 1) {
          this.dots(base, from, to, left + (pitch >> 1), pitch, colour);
        }
      }
    }
  }

  private dots(base: number, from: number, to: number, phase: number, pitch: number, colour: number): void {
    const first = from + ((((phase - from) % pitch) + pitch) % pitch);
    for (let x = first; x < to; x += pitch) {
      this.pixels[base + x] = colour;
    }
  }

  /** Draws the lane over what is there. */
  lane(lane: Lane, y: number, height: number, scale: Scale, style: Style): void {
    const { width, pixels } = this;
    const base = y * width;
    const t0 = scale.startNs;
    const k = scale.pxPerNs;
    const endNs = t0 + width / k;
    const thin: number[] = []; // runs: from, to in exact pixels
    const solid: number[] = [];
    let runFrom = -1;
    let runTo = -1;
    for (let i = firstAfter(lane, t0); i < lane.n; i++) {
      const startNs = lane.start[i]!;
      if (startNs >= endNs) {
        break;
      }
      const x0 = (startNs - t0) * k;
      const x1 = (lane.end[i]! - t0) * k;
      if (x1 - x0 >= THIN) {
        const from = Math.max(0, Math.round(x0));
        let to = Math.min(width, Math.round(x1));
        if (to < width && x1 - x0 >= style.gapFrom) {
          to -= style.gap;
        }
        if (to > from) {
          solid.push(from, to, style.colours[lane.look[i]!]!);
        }
        continue;
      }
      if (x1 < 0) {
        continue;
      }
      if (runTo >= 0 && x0 - runTo > RUN_GAP) {
        thin.push(runFrom, runTo);
        runTo = -1;
      }
      if (runTo < 0) {
        runFrom = Math.max(0, x0);
        runTo = runFrom;
      }
      runTo = Math.max(runTo, Math.min(width, x1));
      this.bin(Math.max(0, x0), Math.min(width, x1), lane.look[i]!);
    }
    if (runTo >= 0) {
      thin.push(runFrom, runTo);
    }
    // One pixel row of the solid blocks at a time: short fills beside one another stay in the cache.
    for (let row = 0; row < height; row++) {
      const at = base + row * width;
      for (let s = 0; s < solid.length; s += 3) {
        const colour = solid[s + 2]!;
        const to = at + solid[s + 1]!;
        if (to - at - solid[s]! > 32) {
          pixels.fill(colour, at + solid[s]!, to);
        } else {
          for (let px = at + solid[s]!; px < to; px++) {
            pixels[px] = colour;
          }
        }
      }
    }
    for (let s = 0; s < solid.length; s += 3) {
      if (solid[s + 1]! - solid[s]! >= style.gapFrom * 2 && style.radius > 0 && height >= style.radius * 4) {
        this.corners(solid[s]!, y, solid[s + 1]!, y + height, style.radius);
      }
    }
    for (let r = 0; r < thin.length; r += 2) {
      this.run(thin[r]!, thin[r + 1]!, y, height, style);
    }
  }

  private bin(x0: number, x1: number, look: number): void {
    // An op without length counts as something: it is there.
    const last = Math.min(this.width - 1, Math.floor(x1));
    for (let px = Math.min(this.width - 1, Math.floor(x0)); px <= last; px++) {
      this.bins[px * N_LOOKS + look]! += Math.max(Math.min(x1, px + 1) - Math.max(x0, px), 1e-6);
    }
  }

  private run(x0: number, x1: number, y: number, height: number, style: Style): void {
    const { width, bins } = this;
    const from = Math.min(width - 1, Math.round(x0));
    const to = Math.min(width, Math.max(from + 1, Math.round(x1)));
    // What rounding pushed over an edge belongs to the pixel at the edge.
    this.fold(Math.min(width - 1, Math.floor(x0)), from, from);
    this.fold(to, Math.min(width, Math.floor(x1) + 1), to - 1);
    if (to - from === 1) {
      this.column(from, this.sum(from), y, height, style);
      return;
    }
    const n = to - from;
    const used: number[] = [];
    for (let look = 0; look < N_LOOKS; look++) {
      let any = false;
      for (let px = from; px < to && !any; px++) {
        any = bins[px * N_LOOKS + look]! > 0;
      }
      if (any) {
        used.push(look);
      }
    }
    // Averages over 2 * radius + 1 pixels, fewer at the ends of the run, by running sums.
    const radius = Math.min(CALM, (n - 1) >> 1);
    const sums = this.sums;
    for (const look of used) {
      sums[0] = 0;
      for (let i = 0; i < n; i++) {
        sums[i + 1] = sums[i]! + bins[(from + i) * N_LOOKS + look]!;
      }
      for (let i = 0; i < n; i++) {
        const reach = Math.min(radius, i, n - 1 - i);
        bins[(from + i) * N_LOOKS + look] = (sums[i + reach + 1]! - sums[i - reach]!) / (2 * reach + 1);
      }
    }
    for (let px = from; px < to; px++) {
      // The outermost pixels are only partly the run's.
      const isEdge = px === from || px === to - 1;
      this.column(px, Math.max(isEdge ? 0 : 1, this.sum(px)), y, height, style);
    }
  }

  private sum(px: number): number {
    let sum = 0;
    for (let look = 0; look < N_LOOKS; look++) {
      sum += this.bins[px * N_LOOKS + look]!;
    }
    return sum;
  }

  /** One pixel column with the shares of its bins, `whole` being the full height; empties the bins. */
  private column(px: number, whole: number, y: number, height: number, style: Style): void {
    const { width, pixels, bins } = this;
    let bottom = y + height;
    for (let look = 0; look < N_LOOKS; look++) {
      const share = bins[px * N_LOOKS + look]!;
      if (share === 0) {
        continue;
      }
      bins[px * N_LOOKS + look] = 0;
      const top = Math.max(y, Math.min(bottom - 1, Math.round(bottom - (share / whole) * height)));
      for (let row = top; row < bottom; row++) {
        pixels[row * width + px] = style.colours[look]!;
      }
      bottom = Math.max(y + 1, top);
    }
  }

  private fold(from: number, to: number, into: number): void {
    for (let px = from; px < to; px++) {
      if (px === into) {
        continue;
      }
      for (let look = 0; look < N_LOOKS; look++) {
        this.bins[into * N_LOOKS + look]! += this.bins[px * N_LOOKS + look]!;
        this.bins[px * N_LOOKS + look] = 0;
      }
    }
  }

  /** Rounds a block's corners towards what is around it. */
  private corners(x0: number, y0: number, x1: number, y1: number, radius: number): void {
    const { width, pixels } = this;
    const inside = pixels[y0 * width + x0 + radius]!;
    const table = coverage(radius);
    for (let side = 0; side < 2; side++) {
      // The ground beside the block, or the block's own colour where its edge is the image's.
      const x = side === 0 ? x0 - 1 : x1;
      if (x < 0 || x >= width) {
        continue;
      }
      for (let dy = 0; dy < radius; dy++) {
        for (let dx = 0; dx < radius; dx++) {
          const share = table[dy * radius + dx]!;
          if (share === 1) {
            continue;
          }
          const px = side === 0 ? x0 + dx : x1 - 1 - dx;
          for (const py of [y0 + dy, y1 - 1 - dy]) {
            pixels[py * width + px] = mix(inside, pixels[py * width + x]!, share);
          }
        }
      }
    }
  }

  /** Text with its middle at x and the glyphs' box at y. Pixels outside the image are left out. */
  text(text: string, x: number, y: number, glyphs: Glyphs, colour: number): void {
    const { width, height, pixels } = this;
    let left = Math.round(x - textWidth(text, glyphs) / 2);
    for (const char of text) {
      const glyph = glyphs.get(char);
      for (let row = 0; row < glyphs.height; row++) {
        const py = y + row;
        if (py < 0 || py >= height) {
          continue;
        }
        for (let col = 0; col < glyph.width; col++) {
          const cover = glyph.mask[row * glyph.width + col]!;
          const px = left + col;
          if (cover > 0 && px >= 0 && px < width) {
            const at = py * width + px;
            pixels[at] = cover === 255 ? colour : mix(colour, pixels[at]!, cover / 255);
          }
        }
      }
      left += glyph.advance;
    }
  }
}

export function textWidth(text: string, glyphs: Glyphs): number {
  let sum = 0;
  for (const char of text) {
    sum += glyphs.get(char).advance;
  }
  return sum;
}

const tables = new Map<number, Float32Array>();

/** How much of each pixel a quarter circle covers, its corner at (0, 0). */
function coverage(radius: number): Float32Array {
  let table = tables.get(radius);
  if (table === undefined) {
    table = new Float32Array(radius * radius);
    const samples = 8;
    for (let i = 0; i < table.length; i++) {
      let inside = 0;
      for (let s = 0; s < samples * samples; s++) {
        const x = (i % radius) + ((s % samples) + 0.5) / samples;
        const y = Math.floor(i / radius) + (Math.floor(s / samples) + 0.5) / samples;
        inside += (radius - x) ** 2 + (radius - y) ** 2 <= radius * radius ? 1 : 0;
      }
      table[i] = inside / samples ** 2;
    }
    tables.set(radius, table);
  }
  return table;
}
