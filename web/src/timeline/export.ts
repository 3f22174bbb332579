/** The visible timeline as a picture: PNG of its pixels with the lane names, or an SVG whose blocks and texts can be edited. */
import { context, el, FONT } from "../base/dom";
import { blobOf } from "../model/exports";
import { showInstants, labelWidth, markers, viewport } from "../model/timeline";
import { box, selected, session } from "../model/session";
import { labelPlace, spanText, TICK_TEXT, ticksBeside, ticksOf } from "./axis";
import { AXIS_PX, MINIMAP_PX, STRIP_PX } from "./draw_axis";
import { LABEL_FONT_PX } from "./draw_base";
import type { Ref } from "../api/types";
import { boxRects, flowsOnScreen, lookOf, rectsOf } from "./draw_over";
import { svgPath } from "./flow_shape";
import { shortened } from "./label_column";
import { cutMiddle, nameOf } from "./labels";
import { tintOf } from "./palette";
import { HEADER_PX, type Item } from "../model/lanes";
import type { Timeline } from "./timeline";

let shown: Timeline | null = null;

/** The timeline that is on screen; returns how to take it back. */
export function setExporter(timeline: Timeline): () => void {
  shown = timeline;
  return () => {
    shown = shown === timeline ? null : shown;
  };
}

const TITLE_PX = 24;
const TOP_PX = TITLE_PX + MINIMAP_PX + AXIS_PX + STRIP_PX;

/** What the page shows of the timeline now. */
export async function exportTimeline(kind: "png" | "svg"): Promise<Blob | string> {
  if (shown === null) {
    throw new Error("the timeline is not shown");
  }
  return kind === "png" ? blobOf(asCanvas(shown)) : asSvg(shown);
}

const titleOf = (): string =>
  `${session.get()?.title ?? "pipescope"} \u00b7 ${spanText(viewport.span)}`;

interface Name {
  item: Item;
  top: number;
  x: number;
  text: string;
  isStrong: boolean;
  /** Pixels of the plot outside of which it is cut. */
  clip: [top: number, bottom: number];
}

/** As the column of names has it. */
function textOf(item: Item, x: number, timeline: Timeline): string {
  const isLane = item.node >= 0 && ["group", "lane", "counter"].includes(item.kind);
  const own = isLane ? shortened(item, timeline) : nameOf(item);
  const room = labelWidth.get() - x - 8;
  return cutMiddle(item.owner === "" ? own : `${item.owner}  ${own}`, room, timeline.widths);
}

/** Names that are on screen, with the middle of their rows. */
function names(timeline: Timeline): Name[] {
  const found: Name[] = [];
  for (const region of timeline.scene.regions) {
    const end = region.scroll + region.bottom - region.top;
    const clear = timeline.scene.clearTop(region);
    const add = (item: Item, y: number, top: number): void => {
      const x = 8 + item.depth * 12;
      found.push({
        item,
        top: y,
        x,
        text: textOf(item, x, timeline),
        isStrong: item.kind === "rank" || item.kind === "host",
        clip: [top, region.bottom],
      });
    };
    const stuck = timeline.scene.stuck(region);
    if (stuck !== null) {
      add(stuck.item, region.top + stuck.top + HEADER_PX / 2, region.top);
    }
    for (
      let i = region.bottom > region.top ? timeline.scene.firstItem(region) : Infinity;
      i < region.items.length && region.items[i].y < end;
      i++
    ) {
      const item = region.items[i];
      const y = region.top + item.y - region.scroll + Math.min(item.height, 28) / 2;
      if (item.kind !== "hidden") {
        add(item, y, clear);
      }
    }
  }
  return found;
}

function asCanvas(timeline: Timeline): HTMLCanvasElement {
  const { scene, palette } = timeline;
  const { scale } = scene;
  const left = labelWidth.get();
  const canvas = el("canvas");
  canvas.width = Math.round((left + scene.width) * scale);
  canvas.height = Math.round((TOP_PX + scene.height) * scale);
  const ctx = context(canvas);
  ctx.fillStyle = palette.page;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  const at = (y: number): number => Math.round(y * scale);
  ctx.drawImage(timeline.parts.minimap, at(left), at(TITLE_PX));
  ctx.drawImage(timeline.parts.axis, at(left), at(TITLE_PX + MINIMAP_PX));
  ctx.drawImage(timeline.parts.base, at(left), at(TOP_PX));
  ctx.drawImage(timeline.parts.over, at(left), at(TOP_PX));
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.textBaseline = "middle";
  ctx.fillStyle = palette.ink;
  ctx.font = `600 12px ${FONT}`;
  ctx.fillText(titleOf(), 8, TITLE_PX / 2);
  for (const name of names(timeline)) {
    const [top, bottom] = name.clip;
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, TOP_PX + top, left, bottom - top);
    ctx.clip();
    ctx.font = `${name.isStrong ? "600 " : ""}${LABEL_FONT_PX}px ${FONT}`;
    ctx.fillText(name.text, name.x, TOP_PX + name.top);
    ctx.restore();
  }
  ctx.fillStyle = palette.line;
  ctx.fillRect(left - 1, TITLE_PX, 1, canvas.height);
  return canvas;
}

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
const hex = (px: number): string =>
  `#${[px & 255, (px >>> 8) & 255, (px >>> 16) & 255].map((v) => v.toString(16).padStart(2, "0")).join("")}`;

/** An image as rectangles of one colour: lines that are alike are taken together, then cut where the colour changes. */
export function imageAsRects(
  pixels: Uint32Array,
  width: number,
  height: number,
  ground: number,
  scale: number,
): string[] {
  const out: string[] = [];
  for (let y0 = 0; y0 < height;) {
    let y1 = y0 + 1;
    while (y1 < height && isSameLine(pixels, width, y0, y1)) {
      y1++;
    }
    for (let from = 0; from < width;) {
      const colour = pixels[y0 * width + from];
      let to = from + 1;
      while (to < width && pixels[y0 * width + to] === colour) {
        to++;
      }
      if (colour !== ground) {
        out.push(
          `<rect x="${from / scale}" y="${y0 / scale}" width="${(to - from) / scale}" height="${(y1 - y0) / scale}" fill="${hex(colour)}"/>`,
        );
      }
      from = to;
    }
    y0 = y1;
  }
  return out;
}

function isSameLine(pixels: Uint32Array, width: number, a: number, b: number): boolean {
  for (let x = 0; x < width; x++) {
    if (pixels[a * width + x] !== pixels[b * width + x]) {
      return false;
    }
  }
  return true;
}

function asSvg(timeline: Timeline): string {
  const { scene, palette, painter } = timeline;
  const left = labelWidth.get();
  const width = left + scene.width;
  const height = TOP_PX + scene.height;
  const canvas = el("canvas");
  canvas.width = timeline.parts.base.width;
  canvas.height = timeline.parts.base.height;
  painter.draw(context(canvas), viewport, {
    palette,
    isDim: timeline.flows.ofSelected.length > 0,
    showInstants: showInstants.get(),
  });
  const { pixels, width: w, height: h } = painter.picture;
  const map = context(timeline.parts.minimap).getImageData(
    0,
    0,
    timeline.parts.minimap.width,
    timeline.parts.minimap.height,
  );
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escape(FONT)}" font-size="${LABEL_FONT_PX}">`,
    `<rect width="${width}" height="${height}" fill="${palette.page}"/>`,
    `<text x="8" y="16" font-size="12" font-weight="600" fill="${palette.ink}">${escape(titleOf())}</text>`,
    `<g transform="translate(${left} ${TITLE_PX})" shape-rendering="crispEdges">`,
    ...imageAsRects(
      new Uint32Array(map.data.buffer),
      map.width,
      map.height,
      palette.pagePx,
      scene.scale,
    ),
    "</g>",
    `<g transform="translate(${left} ${TITLE_PX + MINIMAP_PX})">${axis(timeline)}</g>`,
    `<clipPath id="plot"><rect width="${scene.width}" height="${scene.height}"/></clipPath>`,
    `<g transform="translate(${left} ${TOP_PX})" clip-path="url(#plot)"><g shape-rendering="crispEdges">`,
    ...imageAsRects(pixels, w, h, palette.pagePx, scene.scale),
    "</g>",
    ...sliceTexts(timeline),
    ...overlay(timeline),
    "</g>",
    `<g fill="${palette.ink}">`,
    ...names(timeline).map(nameSvg),
    "</g>",
    `<rect x="${left - 1}" y="${TITLE_PX}" width="1" height="${height - TITLE_PX}" fill="${palette.line}"/>`,
    "</svg>",
  ];
  return out.join("\n");
}

/** A name, in a window of its own where its region cuts it. */
function nameSvg({ x, top, text, isStrong, clip }: Name): string {
  const [from, to] = clip;
  const reach = LABEL_FONT_PX / 2 + 1;
  const isWhole = top - reach >= from && top + reach <= to;
  if (top + reach <= from || top - reach >= to) {
    return "";
  }
  const strong = isStrong ? ' font-weight="600"' : "";
  return isWhole
    ? `<text x="${x}" y="${TOP_PX + top + 4}"${strong}>${escape(text)}</text>`
    : `<svg x="0" y="${TOP_PX + from}" width="${labelWidth.get()}" height="${to - from}"><text x="${x}" y="${top + 4 - from}"${strong}>${escape(text)}</text></svg>`;
}

/** How long the box is, and the place that it takes. */
function boxLength({ palette, widths }: Timeline): [string, { x0: number; x1: number } | null] {
  const b = box.get();
  const text = b === null ? "" : spanText(b.to - b.from);
  const place = b === null ? null : labelPlace(viewport, b.from, b.to, widths.of(text) + 10);
  return place === null
    ? ["", null]
    : [
        `<rect x="${place.x0.toFixed(1)}" y="14" width="${(place.x1 - place.x0).toFixed(1)}" height="13" fill="${palette.accent}"/><text x="${(place.x0 + 5).toFixed(1)}" y="25" fill="${palette.page}">${escape(text)}</text>`,
        place,
      ];
}

function axis(timeline: Timeline): string {
  const { palette, widths } = timeline;
  const { base } = ticksOf(viewport.from, viewport.nsPerPx, viewport.width);
  const n = (v: number): string => v.toFixed(1);
  const [length, place] = boxLength(timeline);
  const ticks = ticksBeside(viewport, place, (text) => widths.of(text)).filter(({ x }) => x >= 0);
  return [
    `<text x="${n(viewport.width / 2)}" y="13" text-anchor="middle" font-weight="600" fill="${palette.ink}">${escape(`${base === "" ? "" : `${base} \u00b7 `}${spanText(viewport.span)}`)}</text>`,
    ...ticks.map(
      ({ x }) => `<rect x="${n(x)}" y="18" width="1" height="10" fill="${palette.line}"/>`,
    ),
    length,
    ...ticks
      .filter(({ text }) => text !== "")
      .map(
        ({ x, text }) =>
          `<text x="${n(x + TICK_TEXT)}" y="26" fill="${palette.quiet}">${escape(text)}</text>`,
      ),
    `<rect y="${AXIS_PX - 1}" width="${viewport.width}" height="1" fill="${palette.line}"/>`,
  ].join("");
}

function sliceTexts({ painter, scene, palette }: Timeline): string[] {
  const { labels } = painter;
  const out: string[] = [];
  for (let i = 0; i < labels.n; i++) {
    const text = painter.label(i);
    const region = scene.regionAt(labels.y[i] / scene.scale);
    if (text !== "" && labels.y[i] / scene.scale >= scene.clearTop(region)) {
      const middle = (labels.x0[i] + labels.x1[i]) / 2 / scene.scale;
      out.push(
        `<text x="${middle.toFixed(1)}" y="${(labels.y[i] / scene.scale + 4).toFixed(1)}" text-anchor="middle" fill="${(labels.isDim[i] === 1 ? palette.dimText : palette.text)[labels.look[i]]}">${escape(text)}</text>`,
      );
    }
  }
  return out;
}

/** A rectangle around, or filled with, where a slice is. */
function sliceRects({ scene }: Timeline, ref: Ref, style: string): string[] {
  return rectsOf(scene, viewport, ref).map(
    (r) =>
      `<rect x="${r.x0.toFixed(1)}" y="${r.top}" width="${Math.max(1, r.x1 - r.x0).toFixed(1)}" height="${r.bottom - r.top}" ${style}/>`,
  );
}

function overlay(timeline: Timeline): string[] {
  const { scene, palette } = timeline;
  const out = timeline.flows
    .lit()
    .flatMap((ref) => sliceRects(timeline, ref, `fill="${palette.css[lookOf(ref)]}"`));
  const current = selected.get();
  if (current !== null) {
    out.push(
      ...sliceRects(timeline, current, `fill="none" stroke="${palette.accent}" stroke-width="2"`),
    );
  }
  for (const m of markers.get()) {
    const x = viewport.x(m.from);
    const colour = tintOf(palette, m.colour);
    if (m.to !== null) {
      out.push(
        `<rect x="${x.toFixed(1)}" width="${(viewport.x(m.to) - x).toFixed(1)}" height="${scene.height}" fill="${colour}" fill-opacity="0.08"/>`,
      );
    }
    out.push(`<rect x="${x.toFixed(1)}" width="1" height="${scene.height}" fill="${colour}"/>`);
  }
  for (const flow of flowsOnScreen(scene, viewport, palette, timeline.flows)) {
    out.push(
      `<path d="${svgPath(flow)}" fill="none" stroke="${flow.isOfSelected ? palette.accent : flow.colour}" stroke-width="${flow.isOfSelected ? 2 : 1}"/>`,
    );
  }
  const b = box.get();
  if (b !== null) {
    for (const r of boxRects(scene, viewport, b)) {
      out.push(
        `<rect x="${r.x0.toFixed(1)}" y="${r.top}" width="${(r.x1 - r.x0).toFixed(1)}" height="${r.bottom - r.top}" fill="${palette.accent}" fill-opacity="0.12" stroke="${palette.accent}"/>`,
      );
    }
  }
  return out;
}
