/** Spans of time in rows, one row a rank: what the timeline shows, small and for one question. Ctrl+wheel zooms, Ctrl+drag,
 * Shift+wheel and Shift+arrows move, 0 shows everything. */
import { useEffect, useState } from "preact/hooks";
import { axisFor, duration, exact, tickText } from "../base/time";
import { cut, type Pen } from "../base/pen";
import { textOn, type ViewerTheme } from "../base/theme";
import { Drawing, type Hit, type Size } from "./drawing";

export interface Span {
  row: number;
  start: number;
  end: number;
  label: string;
  colour: string;
  lines?: Hit["lines"];
  act?: () => void;
  isMarked?: boolean;
}

export interface SpanRowsProps {
  title: string;
  rows: string[];
  /** By row, then start. */
  spans: Span[];
  /** ns, what the axis counts from. */
  from: number;
  to: number;
  rowHeight?: number;
}

const LEFT = 96;
const AXIS = 24;

export function SpanRows({ title, rows, spans, from, to, rowHeight = 22 }: SpanRowsProps) {
  const [view, setView] = useState<[number, number]>([from, to]);
  useEffect(() => setView([from, to]), [from, to]);
  const [a, b] = view;
  const bounded = (start: number, end: number): void => {
    const span = Math.max(10, Math.min(end - start, to - from));
    const left = Math.max(from, Math.min(start, to - span));
    setView([left, left + span]);
  };
  const zoom = (by: number, at: number): void => bounded(at - (at - a) * by, at + (b - at) * by);
  const pan = (share: number): void => bounded(a + (b - a) * share, b + (b - a) * share);
  const width = (size: Size): number => Math.max(1, size.width - LEFT - 12);
  const xOf = (ns: number, size: Size): number => LEFT + ((ns - a) / (b - a)) * width(size);
  const draw = (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null): void => {
    const axis = axisFor((b - a) / width(size), width(size), b - from);
    for (
      let ns = Math.ceil((a - from) / axis.stepNs) * axis.stepNs;
      ns <= b - from;
      ns += axis.stepNs
    ) {
      const x = Math.round(xOf(from + ns, size)) + 0.5;
      pen.line([x, AXIS, x, AXIS + rows.length * rowHeight], colours.line);
      pen.text(x, 12, tickText(ns, axis), { fill: colours.quiet, align: "center" });
    }
    pen.text(8, 12, axis.unit.name, { fill: colours.quiet });
    rows.forEach((name, i) =>
      pen.text(LEFT - 8, AXIS + (i + 0.5) * rowHeight, cut(pen, name, LEFT - 16), {
        fill: colours.ink,
        align: "right",
      }),
    );
    pen.clip(LEFT, AXIS, width(size), rows.length * rowHeight, () => {
      spans.forEach((span, i) => {
        const x0 = xOf(span.start, size);
        const x1 = Math.max(x0 + 1, xOf(span.end, size));
        if (x1 < LEFT || x0 > size.width) {
          return;
        }
        const y = AXIS + span.row * rowHeight + 2;
        const left = Math.max(x0, LEFT - 2);
        const w = Math.min(x1, size.width) - left;
        pen.rect(left, y, Math.max(1, w - (w > 3 ? 1 : 0)), rowHeight - 4, span.colour);
        if (w > 28) {
          const text = cut(pen, span.label, w - 8, 11);
          if (text.length > 3) {
            pen.text(left + w / 2, y + (rowHeight - 4) / 2, text, {
              fill: textOn(span.colour),
              align: "center",
            });
          }
        }
        if (span.isMarked === true || hovered?.key === String(i)) {
          pen.frame(left, y - 1, w, rowHeight - 2, colours.ink, 2);
        }
      });
    });
  };
  const hit = (x: number, y: number, size: Size): Hit | null => {
    const row = Math.floor((y - AXIS) / rowHeight);
    const at = a + ((x - LEFT) / width(size)) * (b - a);
    const room = ((b - a) / width(size)) * 2;
    const i =
      x < LEFT
        ? -1
        : spans.findIndex((s) => s.row === row && s.start - room <= at && s.end + room >= at);
    const span = spans[i];
    return span === undefined
      ? null
      : {
          key: String(i),
          title: span.label,
          ...(span.act === undefined ? {} : { act: span.act }),
          lines: [
            [rows[row] ?? "", ""],
            ["", `${duration(span.end - span.start)}  ${exact(span.end - span.start)}`],
            ...(span.lines ?? []),
          ],
        };
  };
  const onWheel = (e: WheelEvent, x: number, _y: number, size: Size): void => {
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      zoom(Math.pow(1.0015, e.deltaY), a + ((x - LEFT) / width(size)) * (b - a));
    } else if (e.shiftKey) {
      e.preventDefault();
      pan((e.deltaY + e.deltaX) / 1000);
    }
  };
  const onPointerDown = (e: PointerEvent, _x: number, _y: number, size: Size): void => {
    if (!e.ctrlKey && !e.metaKey) {
      return;
    }
    const target = e.currentTarget as HTMLElement;
    const start = e.clientX;
    target.setPointerCapture(e.pointerId);
    const move = (to_: PointerEvent): void => {
      const by = ((start - to_.clientX) / width(size)) * (b - a);
      bounded(a + by, b + by);
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", () => target.removeEventListener("pointermove", move), {
      once: true,
    });
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    const middle = (a + b) / 2;
    const keys: Record<string, () => void> = {
      w: () => zoom(0.67, middle),
      s: () => zoom(1.5, middle),
      a: () => pan(-0.2),
      d: () => pan(0.2),
      0: () => setView([from, to]),
      ArrowLeft: () => pan(-0.2),
      ArrowRight: () => pan(0.2),
    };
    const found = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (found !== undefined) {
      e.preventDefault();
      e.stopPropagation();
      found();
    }
  };
  return (
    <Drawing
      title={title}
      height={AXIS + rows.length * rowHeight + 4}
      draw={draw}
      hit={hit}
      onWheel={onWheel}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
      onDblClick={() => setView([from, to])}
      deps={[rows, spans, a, b]}
    />
  );
}
