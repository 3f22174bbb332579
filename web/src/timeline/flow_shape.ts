/** How flows are drawn: a horizontal Bezier from one place to another, with a head at its end. Pixels of the plot. */

export interface Curve {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  /** Control points lie so far beside the ends. */
  bend: number;
}

const HEAD = 9;
const HEAD_ANGLE = Math.PI / 6;
const LEAST_BEND = 24;
const MOST_BEND = 160;

/** Ends far outside are brought near: canvases lose precision there. Both must keep the direction that is seen. */
const FAR = 20_000;

export function curveOf(x0: number, y0: number, x1: number, y1: number): Curve {
  const from = Math.max(-FAR, Math.min(FAR, x0));
  const to = Math.max(-FAR, Math.min(FAR, x1));
  const bend = Math.min(MOST_BEND, Math.max(LEAST_BEND, Math.abs(to - from) / 2));
  return { x0: from, y0, x1: to, y1, bend };
}

/** Whether any of it may be on screen. */
export function isSeen(c: Curve, width: number, height: number): boolean {
  const left = Math.min(c.x0, c.x1) - c.bend;
  const right = Math.max(c.x0, c.x1) + c.bend;
  return right >= 0 && left <= width && Math.max(c.y0, c.y1) >= 0 && Math.min(c.y0, c.y1) <= height;
}

export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void;
}

export function drawCurve(pen: Pen, c: Curve, head = HEAD): void {
  pen.moveTo(c.x0, c.y0);
  pen.bezierCurveTo(c.x0 + c.bend, c.y0, c.x1 - c.bend, c.y1, c.x1, c.y1);
  if (head > 0) {
    const dx = head * Math.cos(HEAD_ANGLE);
    const dy = head * Math.sin(HEAD_ANGLE);
    pen.moveTo(c.x1 - dx, c.y1 - dy);
    pen.lineTo(c.x1, c.y1);
    pen.lineTo(c.x1 - dx, c.y1 + dy);
  }
}

/** The curve as a path of an SVG. */
export function svgPath(c: Curve): string {
  const parts: string[] = [];
  const n = (v: number): string => String(Math.round(v * 10) / 10);
  drawCurve(
    {
      moveTo: (x, y) => parts.push(`M${n(x)} ${n(y)}`),
      lineTo: (x, y) => parts.push(`L${n(x)} ${n(y)}`),
      bezierCurveTo: (ax, ay, bx, by, x, y) =>
        parts.push(`C${n(ax)} ${n(ay)} ${n(bx)} ${n(by)} ${n(x)} ${n(y)}`),
    },
    c,
  );
  return parts.join("");
}

/** Distance of a point from the curve, for hovering; by samples. */
export function distanceTo(c: Curve, x: number, y: number): number {
  let least = Infinity;
  const samples = 32;
  for (let i = 0; i <= samples; i++) {
    const s = i / samples;
    const r = 1 - s;
    const px =
      r * r * r * c.x0 +
      3 * r * r * s * (c.x0 + c.bend) +
      3 * r * s * s * (c.x1 - c.bend) +
      s * s * s * c.x1;
    const py = r * r * r * c.y0 + 3 * r * r * s * c.y0 + 3 * r * s * s * c.y1 + s * s * s * c.y1;
    least = Math.min(least, Math.hypot(px - x, py - y));
  }
  return least;
}
