/** Draws on a canvas, or the same as SVG: what is seen can be saved as either. Coordinates are CSS pixels. */
import { FONT } from "./dom";

export interface TextLook {
  fill: string;
  size?: number;
  align?: "left" | "center" | "right";
  weight?: number;
  /** Degrees, around its place. */
  turn?: number;
}

export interface Pen {
  rect(x: number, y: number, w: number, h: number, fill: string, alpha?: number): void;
  frame(x: number, y: number, w: number, h: number, stroke: string, width?: number): void;
  /** Through x0, y0, x1, y1, ... */
  line(points: number[], stroke: string, width?: number, dash?: number[]): void;
  dot(x: number, y: number, radius: number, fill: string): void;
  /** y is the middle of the text. */
  text(x: number, y: number, text: string, look: TextLook): void;
  /** Width of a text. */
  widthOf(text: string, size?: number, weight?: number): number;
  /** What `draw` draws is cut at the edges. */
  clip(x: number, y: number, w: number, h: number, draw: () => void): void;
  /** What is drawn says that where a picture can be asked: in SVG, with the pointer on it. */
  titled(title: () => string, draw: () => void): void;
}

const SIZE = 11;

export class CanvasPen implements Pen {
  constructor(private readonly ctx: CanvasRenderingContext2D) {}

  rect(x: number, y: number, w: number, h: number, fill: string, alpha = 1): void {
    this.ctx.globalAlpha = alpha;
    this.ctx.fillStyle = fill;
    this.ctx.fillRect(x, y, w, h);
    this.ctx.globalAlpha = 1;
  }

  frame(x: number, y: number, w: number, h: number, stroke: string, width = 1): void {
    this.ctx.strokeStyle = stroke;
    this.ctx.lineWidth = width;
    this.ctx.strokeRect(x + width / 2, y + width / 2, w - width, h - width);
  }

  line(points: number[], stroke: string, width = 1, dash: number[] = []): void {
    const { ctx } = this;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) {
      if (i === 0) {
        ctx.moveTo(points[0], points[1]);
      } else {
        ctx.lineTo(points[i], points[i + 1]);
      }
    }
    ctx.stroke();
    ctx.setLineDash([]);
  }

  dot(x: number, y: number, radius: number, fill: string): void {
    this.ctx.fillStyle = fill;
    this.ctx.beginPath();
    this.ctx.arc(x, y, radius, 0, 2 * Math.PI);
    this.ctx.fill();
  }

  text(x: number, y: number, text: string, look: TextLook): void {
    const { ctx } = this;
    ctx.font = `${look.weight ?? 400} ${look.size ?? SIZE}px ${FONT}`;
    ctx.textAlign = look.align ?? "left";
    ctx.textBaseline = "middle";
    ctx.fillStyle = look.fill;
    if (look.turn === undefined) {
      ctx.fillText(text, x, y);
      return;
    }
    ctx.save();
    ctx.translate(x, y);
    ctx.rotate((look.turn * Math.PI) / 180);
    ctx.fillText(text, 0, 0);
    ctx.restore();
  }

  widthOf(text: string, size = SIZE, weight = 400): number {
    this.ctx.font = `${weight} ${size}px ${FONT}`;
    return this.ctx.measureText(text).width;
  }

  clip(x: number, y: number, w: number, h: number, draw: () => void): void {
    const { ctx } = this;
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y, w, h);
    ctx.clip();
    draw();
    ctx.restore();
  }

  titled(_title: () => string, draw: () => void): void {
    draw();
  }
}

const escaped = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
const short = (v: number): string => String(Math.round(v * 100) / 100);

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  /** `measure` tells widths of texts as the page's font has them. */
  constructor(private readonly measure: (text: string, size: number, weight: number) => number) {}

  rect(x: number, y: number, w: number, h: number, fill: string, alpha = 1): void {
    this.parts.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(Math.max(0, w))}" height="${short(Math.max(0, h))}" fill="${fill}"${alpha < 1 ? ` fill-opacity="${short(alpha)}"` : ""}/>`,
    );
  }

  frame(x: number, y: number, w: number, h: number, stroke: string, width = 1): void {
    this.parts.push(
      `<rect x="${short(x + width / 2)}" y="${short(y + width / 2)}" width="${short(w - width)}" height="${short(h - width)}" fill="none" stroke="${stroke}" stroke-width="${short(width)}"/>`,
    );
  }

  line(points: number[], stroke: string, width = 1, dash: number[] = []): void {
    this.parts.push(
      `<polyline points="${points.map(short).join(" ")}" fill="none" stroke="${stroke}" stroke-width="${short(width)}"${dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : ""}/>`,
    );
  }

  dot(x: number, y: number, radius: number, fill: string): void {
    this.parts.push(
      `<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" fill="${fill}"/>`,
    );
  }

  text(x: number, y: number, text: string, look: TextLook): void {
    const anchor = { left: "start", center: "middle", right: "end" }[look.align ?? "left"];
    const turn =
      look.turn === undefined
        ? ""
        : ` transform="rotate(${short(look.turn)} ${short(x)} ${short(y)})"`;
    const weight = look.weight === undefined ? "" : ` font-weight="${look.weight}"`;
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" fill="${look.fill}" font-size="${look.size ?? SIZE}"${weight} text-anchor="${anchor}" dominant-baseline="central"${turn}>${escaped(text)}</text>`,
    );
  }

  widthOf(text: string, size = SIZE, weight = 400): number {
    return this.measure(text, size, weight);
  }

  clip(x: number, y: number, w: number, h: number, draw: () => void): void {
    const id = `c${this.clips++}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"/></clipPath><g clip-path="url(#${id})">`,
    );
    draw();
    this.parts.push("</g>");
  }

  titled(title: () => string, draw: () => void): void {
    this.parts.push(`<g><title>${escaped(title())}</title>`);
    draw();
    this.parts.push("</g>");
  }

  done(width: number, height: number, ground: string, title: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}" ` +
      `font-family="${escaped(FONT)}" style="font-variant-numeric:tabular-nums"><title>${escaped(title)}</title>` +
      `<rect width="100%" height="100%" fill="${ground}"/>${this.parts.join("")}</svg>\n`
    );
  }
}

/** Of labels beside equal cells every n-th is written: all, where there is room for each. */
export const everyNth = (cellPx: number, labelPx: number): number =>
  Math.max(1, Math.ceil(labelPx / Math.max(cellPx, 1e-3)));

/** The end of a text that does not fit is left out. */
export function cut(pen: Pen, text: string, room: number, size = SIZE): string {
  if (pen.widthOf(text, size) <= room) {
    return text;
  }
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.widthOf(`${text.slice(0, middle)}…`, size) <= room) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low === 0 ? "" : `${text.slice(0, low)}…`;
}

/** Round ticks from 0 (or `least`) to at least `most`: about `n` of them. */
export function ticksOf(least: number, most: number, n: number): number[] {
  const span = most - least;
  if (!(span > 0)) {
    return [least];
  }
  const power = Math.pow(10, Math.floor(Math.log10(span / n)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= n)!;
  const first = Math.ceil(least / step - 1e-9) + 0;
  const out: number[] = [];
  for (let i = first; i * step <= most + step * 1e-9; i++) {
    out.push(Number((i * step).toPrecision(12)) + 0);
  }
  return out;
}
