/** The legend and the lines of text of a picture of the chart, broken where the picture ends. */
import { FONT } from "../base/dom";
import type { Theme } from "../base/theme";
import type { Words } from "./details";
import { isTransfer } from "./model";
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

export interface PictureLegend {
  entries: Placed[];
  height: number;
}

/** Where each entry stands from `left` to `right`. */
export function placeLegend(
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

export function drawLegend(
  ctx: CanvasRenderingContext2D,
  legend: PictureLegend,
  top: number,
  theme: Theme,
): void {
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.font = `12px ${FONT}`;
  for (const { text, look, cause, x, row } of legend.entries) {
    const y = top + row * ROW_H;
    if (look !== null) {
      const thin = isTransfer(look);
      ctx.fillStyle = colourOf(theme, look);
      ctx.fillRect(x, y + (thin ? 7 : 4), SWATCH_W, thin ? 6 : 12);
    } else if (cause !== null) {
      hatch(ctx, x, y + 4, cause, theme);
    } else {
      ctx.fillStyle = theme.quiet;
      ctx.fillRect(x, y + 4, SWATCH_W, 7);
      ctx.fillRect(x, y + 12, SWATCH_W, 4);
    }
    ctx.fillStyle = theme.ink;
    ctx.fillText(text, x + SWATCH_W + 6, y + 10);
  }
}

/** Warm-up rises, a stall is crossed, cool-down falls. */
function hatch(
  ctx: CanvasRenderingContext2D,
  x: number,
  y: number,
  cause: number,
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
    if (cause !== 2) {
      ctx.moveTo(x + at, y + h);
      ctx.lineTo(x + at + h, y);
    }
    if (cause !== 0) {
      ctx.moveTo(x + at, y);
      ctx.lineTo(x + at + h, y + h);
    }
  }
  ctx.stroke();
  ctx.restore();
}

/** Lines that end where the picture does, broken at spaces. */
export function broken(ctx: CanvasRenderingContext2D, lines: string[], width: number): string[] {
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
