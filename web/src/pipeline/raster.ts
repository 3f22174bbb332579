/** Lanes of blocks as pixels, without a canvas: a hundred thousand blocks take a few milliseconds, on any machine.
 *
 * Two coordinate spaces: time (ns from the view's origin) and device pixels of the image. A block of at least two pixels is
 * drawn as itself, its edges at the nearest pixels. Thinner ones form a run, and each pixel column of a run shows the
 * shares of time of its looks, stacked from the bottom: nothing vanishes, however short. Where many of them share a pixel they are
 * taken in groups (levels.ts), so that a lane costs as much as it has pixels. */
import { LEAST, levelsOf, LONGEST_SHIFT, longestOf } from "./levels";
import { N_LOOKS } from "./model";
import { firstAfter, type Lane } from "./rows";
import { tierSpan } from "./scene";
import { mix } from "../base/theme";

const THIN = 2;
/** Half of what shares are averaged over: without it neighbouring pixels flicker between the same few blocks. */
const CALM = 6;
/** Runs of so few pixels take the full height: a speck would not be seen. */
const SHORT_RUN = 4;
/** Lanes of fewer ops are drawn op by op. */
const GROUPED = 512;
const BLOCK_MASK = (1 << LONGEST_SHIFT) - 1;

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
  /** Thin blocks further apart than this belong to different runs. */
  runGap: number;
}

export class Raster {
  readonly pixels: Uint32Array;
  /** Time by pixel, one array for each look; all zero between two runs, as are the bits of `used`. */
  private readonly bins: Float64Array[];
  private used = 0;
  private solid = new Int32Array(3072);
  private readonly sums: Float64Array;

  constructor(
    readonly width: number,
    readonly height: number,
    pixels?: Uint32Array,
  ) {
    this.pixels = pixels ?? new Uint32Array(width * height);
    this.bins = Array.from({ length: N_LOOKS }, () => new Float64Array(width + 3));
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

  /** Waiting, in lines by cause: 1 rises, 2 falls, 3 both. */
  hatch(
    lane: Lane,
    y: number,
    height: number,
    scale: Scale,
    colour: number,
    pitch: number,
    hatches: number[],
  ): void {
    const endNs = scale.startNs + this.width / scale.pxPerNs;
    const most = lane.n > GROUPED ? longestOf(lane) : null;
    for (let i = firstAfter(lane, scale.startNs); i < lane.n && lane.start[i] < endNs; i++) {
      if (
        most !== null &&
        (i & BLOCK_MASK) === 0 &&
        most[i >> LONGEST_SHIFT] * scale.pxPerNs <= 1
      ) {
        i += BLOCK_MASK; // all of them are too thin
        continue;
      }
      const left = Math.round((lane.start[i] - scale.startNs) * scale.pxPerNs);
      const from = Math.max(0, left);
      const to = Math.min(this.width, Math.round((lane.end[i] - scale.startNs) * scale.pxPerNs));
      if (to - from < THIN) {
        continue;
      }
      const lines = hatches[lane.look[i]];
      for (let row = 0; row < height; row++) {
        const base = (y + row) * this.width;
        if ((lines & 1) !== 0) {
          this.dots(base, from, to, left - row, pitch, colour);
        }
        if ((lines & 2) !== 0) {
          this.dots(base, from, to, left + row, pitch, colour);
        }
      }
    }
  }

  private dots(
    base: number,
    from: number,
    to: number,
    phase: number,
    pitch: number,
    colour: number,
  ): void {
    const first = from + ((((phase - from) % pitch) + pitch) % pitch);
    for (let x = first; x < to; x += pitch) {
      this.pixels[base + x] = colour;
    }
  }

  /** Draws the lane over what is there. */
  lane(lane: Lane, y: number, height: number, scale: Scale, style: Style): void {
    const { width } = this;
    const { start, end, look } = lane;
    const t0 = scale.startNs;
    const k = scale.pxPerNs;
    const endNs = t0 + width / k;
    let nSolid = 0;
    let solid = this.solid;
    let runFrom = 0;
    let runTo = -1; // no run is open
    const n = lane.n;
    const levels = n > GROUPED ? levelsOf(lane) : null;
    const top = levels === null ? 0 : LEAST + levels.times.length - 1;
    let level = levels === null ? 0 : LEAST;
    for (let i = firstAfter(lane, t0); i < n; i++) {
      const startNs = start[i];
      if (startNs >= endNs) {
        break;
      }
      if (levels !== null) {
        // The largest group that begins here and is thin as a whole, so that all in it is.
        level = level < top ? Math.max(LEAST, level + 1) : top;
        while (
          level >= LEAST &&
          ((i & ((1 << level) - 1)) !== 0 ||
            i + (1 << level) > n ||
            (lane.reach[i + (1 << level) - 1] - startNs) * k >= THIN)
        ) {
          level--;
        }
        if (level >= LEAST) {
          const last = i + (1 << level) - 1;
          const x0 = (startNs - t0) * k;
          const x1 = (lane.reach[last] - t0) * k;
          if (x1 >= 0) {
            if (runTo >= 0 && x0 - runTo > style.runGap) {
              this.run(runFrom, runTo, y, height, style);
              runTo = -1;
            }
            const left = x0 < 0 ? 0 : x0;
            const right = x1 > width ? width : x1;
            if (runTo < 0) {
              runFrom = left;
            }
            runTo = right > runTo ? right : runTo;
            const rows = levels.times[level - LEAST];
            for (let l = 0; l < rows.length; l++) {
              const time = rows[l][i >> level];
              if (time > 0) {
                this.used |= 1 << levels.looks[l];
                // Of what is clipped away the share goes too.
                spread(
                  this.bins[levels.looks[l]],
                  left,
                  right,
                  Math.max((time * k * (right - left)) / Math.max(x1 - x0, 1e-9), 1e-6),
                );
              }
            }
          }
          i = last;
          continue;
        }
      }
      const x0 = (startNs - t0) * k;
      const x1 = (end[i] - t0) * k;
      if (x1 - x0 >= THIN) {
        const from = x0 < 0 ? 0 : Math.round(x0);
        let to = Math.round(x1);
        if (to >= width) {
          to = width;
        } else if (x1 - x0 >= style.gapFrom) {
          to -= style.gap;
        }
        if (to > from) {
          if (nSolid + 3 > solid.length) {
            solid = this.growSolid();
          }
          solid[nSolid++] = from;
          solid[nSolid++] = to;
          solid[nSolid++] = look[i]!;
        }
        continue;
      }
      if (x1 < 0) {
        continue;
      }
      if (runTo >= 0 && x0 - runTo > style.runGap) {
        this.run(runFrom, runTo, y, height, style);
        runTo = -1;
      }
      const left = x0 < 0 ? 0 : x0;
      const right = x1 > width ? width : x1;
      if (runTo < 0) {
        runFrom = left;
      }
      runTo = right > runTo ? right : runTo;
      // Into the bins: time by pixel and look. A thin block touches three pixels at most.
      const bins = this.bins[look[i]];
      const px = left | 0;
      this.used |= 1 << look[i];
      if (right <= px + 1) {
        bins[px] += right - left + 1e-6; // one without length counts as something: it is there
      } else {
        bins[px] += px + 1 - left;
        if (right <= px + 2) {
          bins[px + 1] += right - px - 1;
        } else {
          bins[px + 1] += 1;
          bins[px + 2] += right - px - 2;
        }
      }
    }
    if (runTo >= 0) {
      this.run(runFrom, runTo, y, height, style);
    }
    this.paintSolid(nSolid, y, height, style);
  }

  /** The ops of a row; those that overlap in halves of its height. */
  ops(
    row: { ops: Lane; tiers: { lanes: Lane[] } | null },
    y: number,
    height: number,
    scale: Scale,
    style: Style,
  ): void {
    if (row.tiers === null) {
      this.lane(row.ops, y, height, scale, style);
      return;
    }
    row.tiers.lanes.forEach((lane, tier) => {
      const [top, h] = tierSpan(tier, height);
      this.lane(lane, y + top, h, scale, style);
    });
  }

  private growSolid(): Int32Array<ArrayBuffer> {
    const grown = new Int32Array(this.solid.length * 2);
    grown.set(this.solid);
    this.solid = grown;
    return grown;
  }

  /** One pixel row of all blocks at a time: short fills beside one another stay in the cache. */
  private paintSolid(n: number, y: number, height: number, style: Style): void {
    const { width, pixels, solid } = this;
    for (let row = y; row < y + height; row++) {
      const at = row * width;
      for (let s = 0; s < n; s += 3) {
        const colour = style.colours[solid[s + 2]];
        const from = at + solid[s];
        const to = at + solid[s + 1];
        if (to - from > 32) {
          pixels.fill(colour, from, to);
        } else {
          for (let px = from; px < to; px++) {
            pixels[px] = colour;
          }
        }
      }
    }
    if (style.radius > 0 && height >= style.radius * 4) {
      for (let s = 0; s < n; s += 3) {
        if (solid[s + 1] - solid[s] >= style.gapFrom * 2) {
          this.corners(solid[s], y, solid[s + 1], y + height, style.radius);
        }
      }
    }
  }

  /** Paints the pixels of a run as stacked shares and empties their bins. */
  private run(x0: number, x1: number, y: number, height: number, style: Style): void {
    const { width, sums } = this;
    const from = Math.min(width - 1, Math.round(x0));
    const to = Math.min(width, Math.max(from + 1, Math.round(x1)));
    const n = to - from;
    // The outermost pixels are only partly the run's.
    const filled = n <= SHORT_RUN ? 0 : (x1 - x0) / n;
    const planes: Float64Array[] = [];
    const colours: number[] = [];
    for (let look = 0; look < N_LOOKS; look++) {
      if ((this.used & (1 << look)) === 0) {
        continue;
      }
      const bins = this.bins[look];
      planes.push(bins);
      colours.push(style.colours[look]);
      // What rounding pushed over an edge belongs to the pixel at the edge.
      fold(bins, Math.min(width - 1, Math.floor(x0)), from, from);
      fold(bins, to, Math.floor(x1) + 1, to - 1);
      if (n > 1) {
        // Averages over 2 * CALM + 1 pixels, fewer at the ends of the run, by running sums.
        for (let i = 0; i < n; i++) {
          sums[i + 1] = sums[i] + bins[from + i];
        }
        for (let i = 0; i < n; i++) {
          const left = i > CALM ? i - CALM : 0;
          const right = i + CALM + 1 < n ? i + CALM + 1 : n;
          bins[from + i] = (sums[right] - sums[left]) / (right - left);
        }
      }
    }
    this.used = 0;
    for (let px = from; px < to; px++) {
      let whole = filled;
      let sum = 0;
      for (const bins of planes) {
        sum += bins[px];
      }
      whole = Math.max(whole, sum, 1e-9);
      this.column(px, whole, planes, colours, y, height);
    }
  }

  /** One pixel column: shares of `whole` from the bottom up, each at least a pixel high; empties the bins. */
  private column(
    px: number,
    whole: number,
    planes: Float64Array[],
    colours: number[],
    y: number,
    height: number,
  ): void {
    const { width, pixels } = this;
    let bottom = y + height;
    for (let i = 0; i < planes.length; i++) {
      const share = planes[i][px];
      if (share === 0) {
        continue;
      }
      planes[i][px] = 0;
      const top = Math.max(y, Math.min(bottom - 1, Math.round(bottom - (share / whole) * height)));
      const colour = colours[i];
      for (let at = top * width + px, stop = bottom * width; at < stop; at += width) {
        pixels[at] = colour;
      }
      bottom = top > y ? top : y + 1;
    }
  }

  /** Rounds a block's corners towards what is around it. */
  private corners(x0: number, y0: number, x1: number, y1: number, radius: number): void {
    const { width, pixels } = this;
    const inside = pixels[y0 * width + x0 + radius];
    const table = coverage(radius);
    for (let side = 0; side < 2; side++) {
      // The ground beside the block, or the block's own colour where its edge is the image's.
      const x = side === 0 ? x0 - 1 : x1;
      if (x < 0 || x >= width) {
        continue;
      }
      for (let dy = 0; dy < radius; dy++) {
        for (let dx = 0; dx < radius; dx++) {
          const share = table[dy * radius + dx];
          if (share === 1) {
            continue;
          }
          const px = side === 0 ? x0 + dx : x1 - 1 - dx;
          for (const py of [y0 + dy, y1 - 1 - dy]) {
            pixels[py * width + px] = mix(inside, pixels[py * width + x], share);
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
          const cover = glyph.mask[row * glyph.width + col];
          const px = left + col;
          if (cover > 0 && px >= 0 && px < width) {
            const at = py * width + px;
            pixels[at] = cover === 255 ? colour : mix(colour, pixels[at], cover / 255);
          }
        }
      }
      left += glyph.advance;
    }
  }
}

/** `amount` evenly over left..right, at most three pixels. */
function spread(bins: Float64Array, left: number, right: number, amount: number): void {
  const px = left | 0;
  const wide = right - left;
  if (right <= px + 1 || wide <= 0) {
    bins[px] += amount;
    return;
  }
  const per = amount / wide;
  bins[px] += (px + 1 - left) * per;
  if (right <= px + 2) {
    bins[px + 1] += (right - px - 1) * per;
  } else {
    bins[px + 1] += per;
    bins[px + 2] += (right - px - 2) * per;
  }
}

function fold(bins: Float64Array, from: number, to: number, into: number): void {
  for (let px = from; px < to; px++) {
    if (px !== into) {
      bins[into] += bins[px];
      bins[px] = 0;
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
