/**
 * Colours of the timeline as pixels, by look (docs/serve-api.md, "Lanes and what is drawn of them"). The numbers are those of
 * src/serve/routes/route_tiles.c, the colours come with the data from src/write/out/theme.c.
 */
import { mix, pixel, textOn, type ViewerTheme } from "../base/theme";

export const N_LOOKS = 18;
export const LOOK_COMPUTING = 12;
export const LOOK_SYNC = 16;
export const LOOK_INSTANT = 17;

/** How far everything else steps back while the links of a slice are lit. */
const STEP_BACK = 0.4;

export interface Palette {
  isDark: boolean;
  page: string;
  panel: string;
  line: string;
  ink: string;
  quiet: string;
  hatch: string;
  accent: string;
  pagePx: number;
  linePx: number;
  /** By look. */
  css: string[];
  px: Uint32Array;
  dimPx: Uint32Array;
  text: string[];
  dimText: string[];
  tints: string[];
}

/** Should the program not name twelve. */
const TINTS = [
  "#5B8DB8",
  "#C98B6B",
  "#6FA287",
  "#A58CB8",
  "#B8A45C",
  "#6B9CA3",
  "#B8788C",
  "#7F8FBF",
  "#8FA35F",
  "#B0805F",
  "#5FA0B0",
  "#9A8F86",
];

const css = (px: number): string =>
  `#${[px & 255, (px >> 8) & 255, (px >> 16) & 255].map((v) => v.toString(16).padStart(2, "0")).join("")}`;

export function makePalette(theme: ViewerTheme, isDark: boolean): Palette {
  const tints = theme.tints.length > 0 ? theme.tints : TINTS;
  const lanes =
    theme.lanes.length === 4 ? theme.lanes : [theme.accent, theme.quiet, theme.ink, theme.line];
  const looks = [
    ...Array.from({ length: 12 }, (_, i) => tints[i % tints.length]),
    ...lanes.slice(0, 4),
    theme.hatch,
    theme.quiet,
  ];
  const page = pixel(theme.page);
  const px = Uint32Array.from(looks, pixel);
  const dimPx = Uint32Array.from(px, (p) => mix(p, page, 1 - STEP_BACK));
  return {
    isDark,
    page: theme.page,
    panel: theme.panel,
    line: theme.line,
    ink: theme.ink,
    quiet: theme.quiet,
    hatch: theme.hatch,
    accent: theme.accent,
    pagePx: page,
    linePx: pixel(theme.line),
    css: looks,
    px,
    dimPx,
    text: looks.map(textOn),
    dimText: Array.from(dimPx, (p) => textOn(css(p))),
    tints,
  };
}

/** Colour of a marker or a kind of flow. */
export function tintOf(palette: Palette, colour: number | string): string {
  return typeof colour === "string" ? colour : palette.tints[colour % palette.tints.length];
}

/** A kind of flow keeps its colour: known ones by meaning, others by their text. */
const FLOW_TINTS: Record<string, number> = {
  async_task_queue: 0,
  fwdbwd: 3,
  async_npu: 1,
  HostToDevice: 2,
  MsTx: 6,
  "send-recv": 9,
  collective: 5,
  ac2g: 1,
};

export function flowTint(kind: string): number {
  let hash = 7;
  for (let i = 0; i < kind.length; i++) {
    hash = (Math.imul(hash, 31) + kind.charCodeAt(i)) >>> 0;
  }
  return FLOW_TINTS[kind] ?? hash % 12;
}
