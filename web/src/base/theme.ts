/** Colours. They come with the data from the program's one theme file (src/write/out/theme.c). */

export interface Theme {
  page: string;
  panel: string;
  line: string;
  ink: string;
  quiet: string;
  hatch: string;
  accent: string;
  kinds: string[];
  phases: string[];
}

/** What the viewer has beyond that. */
export interface ViewerTheme extends Theme {
  /** Computing, communication, communication not overlapped, free. */
  lanes: string[];
  /** Twelve, for names of kernels and calls. */
  tints: string[];
}

export type Rgb = [number, number, number];

export function rgb(hex: string): Rgb {
  const v = parseInt(hex.slice(1), 16);
  return [v >> 16, (v >> 8) & 255, v & 255];
}

/** As a pixel of an ImageData seen through a Uint32Array on a little-endian machine (all browsers today). */
export function pixel(hex: string): number {
  const [r, g, b] = rgb(hex);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** `share` of a over b, both pixels; red and blue go together, in integers. */
export function mix(a: number, b: number, share: number): number {
  const s = Math.round(share * 256);
  const rest = 256 - s;
  const redBlue = ((((a & 0xff00ff) * s + (b & 0xff00ff) * rest) >>> 8) & 0xff00ff) >>> 0;
  const green = (((a >>> 8) & 255) * s + ((b >>> 8) & 255) * rest) & 0xff00;
  return (0xff000000 | redBlue | green) >>> 0;
}

/** Relative luminance of WCAG. */
export function luminance(hex: string): number {
  const linear = rgb(hex).map((v) => {
    const c = v / 255;
    return c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/** Colours of a ramp. */
export const RAMP = 24;

/** Between the ground and the accent, over one colour in the middle: even steps of lightness. */
export function rampOf(colours: Pick<Theme, "panel" | "accent" | "ink">): string[] {
  const [a, b, c] = [rgb(colours.panel), rgb(colours.accent), rgb(colours.ink)];
  return Array.from({ length: RAMP }, (_, i) => {
    const x = i / (RAMP - 1);
    const [from, to, s] =
      x < 0.7 ? [a, b, 0.12 + (x / 0.7) * 0.88] : [b, c, ((x - 0.7) / 0.3) * 0.6];
    return hexOf(from, to, s);
  });
}

/** `share` of the way between two colours. */
const hexOf = (from: number[], to: number[], share: number): string =>
  `#${from
    .map((v, k) =>
      Math.round(v + (to[k] - v) * share)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;

/** From less over nothing to more: two colours that are told apart with any colour vision, and the ground between them. */
export function divergingOf(colours: Pick<Theme, "panel" | "accent">, more: string): string[] {
  const ground = rgb(colours.panel);
  const n = 2 * RAMP;
  return Array.from({ length: n }, (_, i) => {
    const x = (2 * i) / (n - 1) - 1;
    return hexOf(ground, rgb(x < 0 ? colours.accent : more), Math.abs(x));
  });
}

export const INK = "#14181d";
export const WHITE = "#ffffff";

const BLACK = "#000000";
/** Of WCAG for text of this size. */
export const LEAST_CONTRAST = 4.5;

export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one) + 0.05, luminance(other) + 0.05];
  return Math.max(a, b) / Math.min(a, b);
}

/** Ink or white, whichever is easier to read on `background`; black on grounds in the middle, on which neither is easy to read. */
export function textOn(background: string): string {
  const [ink, white] = [contrast(INK, background), contrast(WHITE, background)];
  return Math.max(ink, white) < LEAST_CONTRAST ? BLACK : white >= ink ? WHITE : INK;
}
