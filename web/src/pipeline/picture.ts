/** A picture of the chart that is whole without the page: what is in sight, under lines of text, with names, axis and legend. */
import { context, el, FONT } from "../base/dom";
import type { Theme } from "../base/theme";
import type { Words } from "./details";
import type { Layers } from "./layers";
import { rankText, stageText } from "./margins";
import { isTransfer, LOOK_OTHER_WORK } from "./model";
import { AXIS_H, yOf, type Sight } from "./painter";
import { colourOf, lookText } from "./panels";
import type { View } from "./rows";
import { fill, type Texts } from "./texts";

const ROW_H = 20;
const SWATCH_W = 20;

interface Entry {
  text: string;
  /** A colour, or the cause of a wait; neither: what lies below. */
  look: number | null;
  cause: number | null;
}

interface Placed extends Entry {
  x: number;
  row: number;
}

interface PictureLegend {
  entries: Placed[];
  height: number;
}

const PAD = 12;
const LINE_H = 18;

/** Where the parts of the picture lie, CSS pixels. */
interface Sheet {
  ctx: CanvasRenderingContext2D;
  left: number;
  top: number;
  /** Of the rows in sight. */
  rowsH: number;
}

/** `left`: room for the names of rows. */
export function paintPicture(
  s: Sight,
  layers: Layers,
  left: number,
  title: string,
  text: string[],
  words: Words,
  texts: Texts,
): HTMLCanvasElement {
  const measure = context(el("canvas"));
  const right = left + s.width + PAD;
  const lines = broken(measure, text, right - PAD);
  const legend = placeLegend(measure, s.view, words, texts, PAD, right);
  const top = 28 + lines.length * LINE_H + 12;
  const rowsH = yOf(s, s.stopRow) - yOf(s, s.firstRow);
  const canvas = el("canvas");
  canvas.width = Math.round((right + PAD) * s.ratio);
  canvas.height = Math.round((top + rowsH + AXIS_H + 20 + legend.height) * s.ratio);
  const ctx = context(canvas);
  ctx.scale(s.ratio, s.ratio);
  ctx.fillStyle = s.theme.page;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.textBaseline = "middle";
  write(ctx, title, PAD, 20, 18, s.theme.ink, 600);
  lines.forEach((line, i) => write(ctx, line, PAD, 44 + i * LINE_H, 12, s.theme.quiet));
  const sheet = { ctx, left, top, rowsH };
  paintNames(sheet, s, texts);
  paintLayers(sheet, s, layers);
  drawLegend(ctx, legend, top + rowsH + AXIS_H + 10, s);
  return canvas;
}

function write(
  ctx: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  size: number,
  colour: string,
  weight = 400,
): void {
  ctx.font = `${weight} ${size}px ${FONT}`;
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}

/** Of rows that are too low for a name each, every eighth has one. */
function paintNames({ ctx, left, top }: Sheet, s: Sight, texts: Texts): void {
  const { pitch, blockH } = s.scene;
  ctx.textAlign = "right";
  for (let r = s.firstRow; r < s.stopRow; r++) {
    if (pitch >= 9 || r % 8 === 0) {
      const row = s.view.rows[r];
      const name = `${stageText(row, texts)}  ${rankText(row, texts)}`;
      const y = top + yOf(s, r) + blockH / 2;
      write(ctx, name, left - 8, y, pitch >= 12 ? 11 : 9, s.theme.ink);
    }
  }
  ctx.textAlign = "left";
}

function paintLayers({ ctx, left, top, rowsH }: Sheet, s: Sight, layers: Layers): void {
  for (const layer of [layers.base, layers.over]) {
    const h = Math.min(Math.round(rowsH * s.ratio), layer.height);
    ctx.drawImage(layer, 0, 0, layer.width, h, left, top, s.width, h / s.ratio);
  }
  ctx.drawImage(layers.axis, left, top + rowsH + 2, s.width, AXIS_H);
}

/** Where each entry stands from `left` to `right`. */
function placeLegend(
  ctx: CanvasRenderingContext2D,
  view: View,
  words: Words,
  texts: Texts,
  left: number,
  right: number,
): PictureLegend {
  const looks = [...view.looks].sort(
    (a, b) => Number(isTransfer(a)) - Number(isTransfer(b)) || a - b,
  );
  const entries: Entry[] = looks.map((look) => ({
    text: lookText(words, look),
    look,
    cause: null,
  }));
  if (view.hasOthers) {
    entries.push({ text: texts.legendOther, look: LOOK_OTHER_WORK, cause: null });
  }
  words.causes.forEach((cause, i) => {
    if (view.rows.some((row) => (row.causeNs[i] ?? 0) > 0)) {
      entries.push({ text: fill(texts.legendWaiting, cause), look: null, cause: i });
    }
  });
  if (view.theoryShare !== null) {
    entries.push({ text: texts.legendPair, look: null, cause: null });
  }
  ctx.font = `12px ${FONT}`;
  let x = left;
  let row = 0;
  const placed = entries.map((entry) => {
    const width = SWATCH_W + 6 + ctx.measureText(entry.text).width;
    if (x > left && x + width > right) {
      x = left;
      row++;
    }
    const at = { ...entry, x, row };
    x += width + 20;
    return at;
  });
  return { entries: placed, height: (row + 1) * ROW_H };
}

function drawLegend(
  ctx: CanvasRenderingContext2D,
  legend: PictureLegend,
  top: number,
  { theme, shapes: { hatches: lines } }: Sight,
): void {
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.font = `12px ${FONT}`;
  for (const { text, look, cause, x, row } of legend.entries) {
    const y = top + row * ROW_H;
    if (look !== null) {
      const thin = isTransfer(look);
      ctx.fillStyle = colourOf(theme, look);
      const isOther = look === LOOK_OTHER_WORK;
      ctx.fillRect(x, y + (isOther ? 12 : thin ? 7 : 4), SWATCH_W, isOther ? 4 : thin ? 6 : 12);
    } else if (cause !== null) {
      hatch(ctx, x, y + 4, lines[cause], theme);
    } else {
      ctx.fillStyle = theme.quiet;
      ctx.fillRect(x, y + 4, SWATCH_W, 7);
      ctx.fillRect(x, y + 12, SWATCH_W, 4);
    }
    ctx.fillStyle = theme.ink;
    ctx.fillText(text, x + SWATCH_W + 6, y + 10);
  }
}

/** Lines: 1 rises, 2 falls, 3 both. */
function hatch(
  ctx: CanvasRenderingContext2D,
  x: number,
  y: number,
  lines: number,
  theme: Theme,
): void {
  const h = 12;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, SWATCH_W, h);
  ctx.clip();
  ctx.strokeStyle = theme.hatch;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let at = -h; at < SWATCH_W; at += 5) {
    if ((lines & 1) !== 0) {
      ctx.moveTo(x + at, y + h);
      ctx.lineTo(x + at + h, y);
    }
    if ((lines & 2) !== 0) {
      ctx.moveTo(x + at, y);
      ctx.lineTo(x + at + h, y + h);
    }
  }
  ctx.stroke();
  ctx.restore();
}

/** Lines that end where the picture does, broken at spaces. */
function broken(ctx: CanvasRenderingContext2D, lines: string[], width: number): string[] {
  ctx.font = `12px ${FONT}`;
  const out: string[] = [];
  for (const line of lines) {
    let now = "";
    for (const word of line.split(" ")) {
      const next = now === "" ? word : `${now} ${word}`;
      if (now !== "" && ctx.measureText(next).width > width) {
        out.push(now);
        now = word;
      } else {
        now = next;
      }
    }
    out.push(now);
  }
  return out;
}
