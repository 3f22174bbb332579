/** The visible timeline as a picture: PNG of its pixels with the lane names, or an SVG whose blocks and texts can be edited. */
import { context, el, FONT } from "../base/dom";
import { blobOf } from "../model/exports";
import { showInstants, labelWidth, markers, viewport } from "../model/timeline";
import { box, selected, session } from "../model/session";
import { labelPlace, spanText, ticksOf } from "./axis";
import { AXIS_PX, MINIMAP_PX, STRIP_PX } from "./draw_axis";
import { LABEL_FONT_PX } from "./draw_base";
import type { Ref } from "../api/types";
import { boxRects, flowsOnScreen, lookOf, rectsOf } from "./draw_over";
import { svgPath } from "./flow_shape";
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
}

/** Names that are on screen, with the middle of their rows. */
function names(timeline: Timeline): Name[] {
  const found: Name[] = [];
  for (const region of timeline.scene.regions) {
    const end = region.scroll + region.bottom - region.top;
    const clear = timeline.scene.clearTop(region);
    const stuck = timeline.scene.stuck(region);
    if (stuck !== null) {
      const top = region.top + stuck.top + HEADER_PX / 2;
      const x = 8 + stuck.item.depth * 12;
      found.push({ item: stuck.item, top, x, text: nameOf(stuck.item), isStrong: true });
    }
    for (
      let i = region.bottom > region.top ? timeline.scene.firstItem(region) : Infinity;
      i < region.items.length && region.items[i].y < end;
      i++
    ) {
      const item = region.items[i];
      const top = region.top + item.y - region.scroll;
      const x = 8 + item.depth * 12;
      const y = top + Math.min(item.height, 28) / 2;
      if (y >= clear && y < region.bottom && item.kind !== "hidden") {
        const text = cutMiddle(
          item.owner === "" ? nameOf(item) : `${item.owner}  ${nameOf(item)}`,
          labelWidth.get() - x - 8,
          timeline.widths,
        );
        found.push({
          item,
          top: y,
          x,
          text,
          isStrong: item.kind === "rank" || item.kind === "host",
        });
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
    ctx.font = `${name.isStrong ? "600 " : ""}${LABEL_FONT_PX}px ${FONT}`;
    ctx.fillText(name.text, name.x, TOP_PX + name.top);
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
    ...names(timeline).map(
      (n) =>
        `<text x="${n.x}" y="${TOP_PX + n.top + 4}"${n.isStrong ? ' font-weight="600"' : ""}>${escape(n.text)}</text>`,
    ),
    "</g>",
    `<rect x="${left - 1}" y="${TITLE_PX}" width="1" height="${height - TITLE_PX}" fill="${palette.line}"/>`,
    "</svg>",
  ];
  return out.join("\n");
}

/** How long the box is. */
function boxLength({ palette, widths }: Timeline): string {
  const b = box.get();
  const text = b === null ? "" : spanText(b.to - b.from);
  const place = b === null ? null : labelPlace(viewport, b.from, b.to, widths.of(text) + 10);
  return place === null
    ? ""
    : `<rect x="${place.x0.toFixed(1)}" y="14" width="${(place.x1 - place.x0).toFixed(1)}" height="13" fill="${palette.accent}"/><text x="${(place.x0 + 5).toFixed(1)}" y="25" fill="${palette.page}">${escape(text)}</text>`;
}

function axis(timeline: Timeline): string {
  const { palette } = timeline;
  const { ticks, base } = ticksOf(viewport.from, viewport.nsPerPx, viewport.width);
  const n = (v: number): string => v.toFixed(1);
  return [
    `<text x="${n(viewport.width / 2)}" y="13" text-anchor="middle" font-weight="600" fill="${palette.ink}">${escape(`${base === "" ? "" : `${base} \u00b7 `}${spanText(viewport.span)}`)}</text>`,
    ...ticks
      .filter((tick) => viewport.x(tick.ns) >= 0)
      .map((tick) => {
        const x = viewport.x(tick.ns);
        return `<rect x="${n(x)}" y="18" width="1" height="10" fill="${palette.line}"/><text x="${n(x + 4)}" y="26" fill="${palette.quiet}">${escape(tick.text)}</text>`;
      }),
    boxLength(timeline),
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
