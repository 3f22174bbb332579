/** Spans of time in rows, one row a rank: what the timeline shows, small and for one question. Ctrl+wheel zooms, Ctrl+drag,
 * Shift+wheel and Shift+arrows move, 0 shows everything. */
import { useEffect, useMemo, useReducer } from "preact/hooks";
import { axisFor, duration, exact, ticksIn, tickText } from "../base/time";
import { cut, type Pen } from "../base/pen";
import { followDrag, wheelMove } from "../base/pointer";
import { textOn, type ViewerTheme } from "../base/theme";
import { Viewport, WITHIN } from "../base/viewport";
import { Drawing, type Hit, type Size } from "./drawing";

export interface Span {
  row: number;
  start: number;
  end: number;
  label: string;
  colour: string;
  lines?: Hit["lines"];
  act?: (e: MouseEvent) => void;
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
const RIGHT = 12;
const AXIS = 24;
const LEAST_SPAN_NS = 10;
const ZOOM_KEY = 1.5;
const PAN_KEY = 0.2;
/** The pointer is on a span that it misses by so few pixels. */
const NEAR_PX = 2;

export function SpanRows({ title, rows, spans, from, to, rowHeight = 22 }: SpanRowsProps) {
  const view = useMemo(() => new Viewport({ ...WITHIN, leastSpanNs: LEAST_SPAN_NS }), []);
  const [version, redraw] = useReducer((n: number) => n + 1, 0);
  const move = (change: () => void): void => {
    change();
    redraw(0);
  };
  useEffect(() => {
    view.setExtent(from, to);
    move(() => view.fit());
  }, [from, to]);
  const picture: SpanPicture = { view, rows, spans, from, rowHeight };
  const draw = (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null): void => {
    view.resize(Math.max(1, size.width - LEFT - RIGHT));
    drawAxis(picture, pen, colours);
    drawSpans(picture, pen, size, colours, hovered);
  };
  const hit = (x: number, y: number): Hit | null => {
    const row = Math.floor((y - AXIS) / rowHeight);
    const at = view.ns(x - LEFT);
    const room = view.nsPerPx * NEAR_PX;
    const isAt = (s: Span): boolean => s.row === row && s.start - room <= at && s.end + room >= at;
    const i = x < LEFT ? -1 : spans.findIndex(isAt);
    return i < 0 ? null : hitOf(spans[i], i, rows[row] ?? "");
  };
  const onWheel = (e: WheelEvent, x: number, _y: number, size: Size): void => {
    const by = wheelMove(e, size.height);
    if (by !== null) {
      e.preventDefault();
      move(() => ("zoom" in by ? view.zoom(by.zoom, x - LEFT) : view.pan(by.pan)));
    }
  };
  const onPointerDown = (e: PointerEvent): void => {
    if (e.ctrlKey || e.metaKey) {
      let lastX = e.clientX;
      const pan = (now: PointerEvent): void => {
        const by = lastX - now.clientX;
        lastX = now.clientX;
        move(() => view.pan(by));
      };
      followDrag(e.currentTarget as HTMLElement, e, { move: pan }, 0);
    }
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    const act = keysOf(view)[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (act !== undefined) {
      e.preventDefault();
      e.stopPropagation();
      move(act);
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
      onDblClick={() => move(() => view.fit())}
      deps={[rows, spans, from, to, version]}
    />
  );
}

interface SpanPicture {
  view: Viewport;
  rows: string[];
  spans: Span[];
  from: number;
  rowHeight: number;
}

function keysOf(view: Viewport): Record<string, () => void> {
  const zoom = (factor: number) => (): void => view.zoom(factor, view.width / 2);
  const pan = (share: number) => (): void => view.pan(view.width * share);
  return {
    w: zoom(ZOOM_KEY),
    s: zoom(1 / ZOOM_KEY),
    a: pan(-PAN_KEY),
    d: pan(PAN_KEY),
    0: () => view.fit(),
    ArrowLeft: pan(-PAN_KEY),
    ArrowRight: pan(PAN_KEY),
  };
}

/** Lines at the ticks, and the names of the rows. */
function drawAxis(p: SpanPicture, pen: Pen, colours: ViewerTheme): void {
  const { view, rows, rowHeight } = p;
  const axis = axisFor(view.nsPerPx, view.width, view.to - p.from);
  for (const ns of ticksIn(axis, view.from - p.from, view.to - p.from)) {
    const x = Math.round(LEFT + view.x(p.from + ns)) + 0.5;
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
}

function drawSpans(
  p: SpanPicture,
  pen: Pen,
  size: Size,
  colours: ViewerTheme,
  hovered: Hit | null,
): void {
  pen.clip(LEFT, AXIS, p.view.width, p.rows.length * p.rowHeight, () =>
    p.spans.forEach((span, i) => drawSpan(p, pen, size, colours, span, hovered?.key === String(i))),
  );
}

function drawSpan(
  { view, rowHeight }: SpanPicture,
  pen: Pen,
  size: Size,
  colours: ViewerTheme,
  span: Span,
  isHovered: boolean,
): void {
  const x0 = LEFT + view.x(span.start);
  const x1 = Math.max(x0 + 1, LEFT + view.x(span.end));
  if (x1 < LEFT || x0 > size.width) {
    return;
  }
  const y = AXIS + span.row * rowHeight + 2;
  const left = Math.max(x0, LEFT - 2);
  const w = Math.min(x1, size.width) - left;
  pen.rect(left, y, Math.max(1, w - (w > 3 ? 1 : 0)), rowHeight - 4, span.colour);
  const text = w > 28 ? cut(pen, span.label, w - 8, 11) : "";
  if (text.length > 3) {
    const look = { fill: textOn(span.colour), align: "center" } as const;
    pen.text(left + w / 2, y + (rowHeight - 4) / 2, text, look);
  }
  if (span.isMarked === true || isHovered) {
    pen.frame(left, y - 1, w, rowHeight - 2, colours.ink, 2);
  }
}

const hitOf = (span: Span, i: number, row: string): Hit => ({
  key: String(i),
  title: span.label,
  ...(span.act === undefined ? {} : { act: span.act }),
  lines: [
    [row, ""],
    ["", `${duration(span.end - span.start)}  ${exact(span.end - span.start)}`],
    ...(span.lines ?? []),
  ],
});
