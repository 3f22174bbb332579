/** Spans of time in rows, one row a rank: what the timeline shows, small and for one question. Ctrl+wheel zooms, Ctrl+drag,
 * Shift+wheel and Shift+arrows move, 0 shows everything. Of many rows those in sight are drawn, below an axis that stays. */
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { axisFor, duration, exact, ticksIn, tickText } from "../base/time";
import { cut, type Pen } from "../base/pen";
import { followDrag, wheelMove } from "../base/pointer";
import { textOn, type ViewerTheme } from "../base/theme";
import { Viewport, WITHIN } from "../base/viewport";
import { Drawing, type Hit, type Size } from "./drawing";

/** By their columns, as there may be very many: by row, then start. */
export interface Spans {
  length: number;
  row: ArrayLike<number>;
  start: ArrayLike<number>;
  end: ArrayLike<number>;
  labelOf: (i: number) => string;
  colourOf: (i: number) => string;
  /** Asked for when the pointer is on it. */
  linesOf: (i: number) => Hit["lines"];
  act: (i: number, e: MouseEvent) => void;
  /** -1: none is. */
  marked: number;
}

export interface SpanRowsProps {
  title: string;
  rows: string[];
  spans: Spans;
  /** ns, what the axis counts from. */
  from: number;
  to: number;
  rowHeight?: number;
}

const LEFT = 96;
const RIGHT = 12;
const AXIS = 24;
const MOST_HEIGHT = 360;
const LEAST_SPAN_NS = 10;
const ZOOM_KEY = 1.5;
const PAN_KEY = 0.2;
/** The pointer is on a span that it misses by so few pixels. */
const NEAR_PX = 2;

export function SpanRows({ title, rows, spans, from, to, rowHeight = 22 }: SpanRowsProps) {
  const view = useMemo(() => new Viewport({ ...WITHIN, leastSpanNs: LEAST_SPAN_NS }), []);
  const [version, redraw] = useReducer((n: number) => n + 1, 0);
  const [scrolled, setScrolled] = useState(0);
  const move = (change: () => void): void => {
    change();
    redraw(0);
  };
  useEffect(() => {
    view.setExtent(from, to);
    move(() => view.fit());
  }, [from, to]);
  const first = useMemo(() => firstOfRows(rows.length, spans), [rows, spans]);
  const height = AXIS + rows.length * rowHeight + 4;
  const box = useRef<HTMLDivElement>(null);
  const marked = spans.marked < 0 ? -1 : spans.row[spans.marked];
  useEffect(() => {
    if (marked >= 0) {
      box.current!.scrollTop = (marked + 0.5) * rowHeight - (MOST_HEIGHT - AXIS) / 2;
    }
  }, [marked]);
  /** A picture as high as all rows begins with the first one. */
  const pictureIn = (size: Size): SpanPicture => {
    const top = size.height >= height ? 0 : scrolled;
    return { view, rows, spans, first, from, rowHeight, top, size };
  };
  const draw = (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null): void => {
    view.resize(Math.max(1, size.width - LEFT - RIGHT));
    drawAxis(pictureIn(size), pen, colours);
    drawSpans(pictureIn(size), pen, colours, hovered);
  };
  const hit = (x: number, y: number, size: Size): Hit | null =>
    x < LEFT || y < AXIS ? null : hitIn(pictureIn(size), x, y);
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
    <div
      class="span-rows"
      ref={box}
      style={{ maxHeight: `${MOST_HEIGHT}px` }}
      onScroll={(e) => setScrolled(e.currentTarget.scrollTop)}
    >
      <div style={{ height: `${height}px` }}>
        <div class="in-sight">
          <Drawing
            title={title}
            height={Math.min(height, MOST_HEIGHT)}
            wholeHeight={height}
            draw={draw}
            hit={hit}
            onWheel={onWheel}
            onPointerDown={onPointerDown}
            onKeyDown={onKeyDown}
            onDblClick={() => move(() => view.fit())}
            deps={[rows, spans, from, to, version, scrolled]}
          />
        </div>
      </div>
    </div>
  );
}

interface SpanPicture {
  view: Viewport;
  rows: string[];
  spans: Spans;
  /** Of each row the number of its first span; behind the last row the number of all. */
  first: number[];
  from: number;
  rowHeight: number;
  /** Pixels of rows that were scrolled out of sight. */
  top: number;
  size: Size;
}

export function firstOfRows(
  nRows: number,
  { row, length }: Pick<Spans, "row" | "length">,
): number[] {
  const first: number[] = [];
  for (let i = 0; i < length; i++) {
    while (first.length <= row[i]) {
      first.push(i);
    }
  }
  while (first.length <= nRows) {
    first.push(length);
  }
  return first;
}

const rowAt = ({ top, rowHeight }: SpanPicture, y: number): number =>
  Math.floor((y - AXIS + top) / rowHeight);

const rowTop = ({ top, rowHeight }: SpanPicture, row: number): number =>
  AXIS + row * rowHeight - top;

/** The rows of which any pixel is in sight. */
function rowsInSight(p: SpanPicture): { begin: number; end: number } {
  return {
    begin: Math.max(0, rowAt(p, AXIS)),
    end: Math.min(p.rows.length, rowAt(p, p.size.height) + 1),
  };
}

function hitIn(p: SpanPicture, x: number, y: number): Hit | null {
  const row = rowAt(p, y);
  const at = p.view.ns(x - LEFT);
  const room = p.view.nsPerPx * NEAR_PX;
  for (let i = p.first[row] ?? Infinity; i < (p.first[row + 1] ?? 0); i++) {
    if (p.spans.start[i] - room <= at && p.spans.end[i] + room >= at) {
      return hitOf(p.spans, i, p.rows[row] ?? "");
    }
  }
  return null;
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
  const { view, rows, rowHeight, size } = p;
  const axis = axisFor(view.nsPerPx, view.width, view.to - p.from);
  for (const ns of ticksIn(axis, view.from - p.from, view.to - p.from)) {
    const x = Math.round(LEFT + view.x(p.from + ns)) + 0.5;
    pen.line([x, AXIS, x, Math.min(size.height, rowTop(p, rows.length))], colours.line);
    pen.text(x, 12, tickText(ns, axis), { fill: colours.quiet, align: "center" });
  }
  pen.text(8, 12, axis.unit.name, { fill: colours.quiet });
  const { begin, end } = rowsInSight(p);
  pen.clip(0, AXIS, LEFT, size.height - AXIS, () => {
    for (let row = begin; row < end; row++) {
      pen.text(LEFT - 8, rowTop(p, row) + rowHeight / 2, cut(pen, rows[row], LEFT - 16), {
        fill: colours.ink,
        align: "right",
      });
    }
  });
}

function drawSpans(p: SpanPicture, pen: Pen, colours: ViewerTheme, hovered: Hit | null): void {
  const { begin, end } = rowsInSight(p);
  pen.clip(LEFT, AXIS, p.view.width, p.size.height - AXIS, () => {
    for (let row = begin; row < end; row++) {
      drawRow(p, pen, colours, row, hovered);
    }
  });
}

/** Of spans thinner than a pixel one is drawn in each. */
function drawRow(
  p: SpanPicture,
  pen: Pen,
  colours: ViewerTheme,
  row: number,
  hovered: Hit | null,
): void {
  let thin = -1;
  for (let i = p.first[row]; i < p.first[row + 1]; i++) {
    const isLit = p.spans.marked === i || hovered?.key === String(i);
    const [x0, x1] = [LEFT + p.view.x(p.spans.start[i]), LEFT + p.view.x(p.spans.end[i])];
    const pixel = x1 - x0 < 1 ? Math.floor(x0) : -1;
    if (x1 < LEFT - 1 || x0 > p.size.width || (pixel >= 0 && pixel === thin && !isLit)) {
      continue;
    }
    thin = pixel;
    drawSpan(p, pen, colours, i, x0, Math.max(x0 + 1, x1), isLit);
  }
}

function drawSpan(
  p: SpanPicture,
  pen: Pen,
  colours: ViewerTheme,
  i: number,
  x0: number,
  x1: number,
  isLit: boolean,
): void {
  const { rowHeight, size, spans } = p;
  const y = rowTop(p, spans.row[i]) + 2;
  const colour = spans.colourOf(i);
  const left = Math.max(x0, LEFT - 2);
  const w = Math.min(x1, size.width) - left;
  pen.rect(left, y, Math.max(1, w - (w > 3 ? 1 : 0)), rowHeight - 4, colour);
  const text = w > 28 ? cut(pen, spans.labelOf(i), w - 8, 11) : "";
  if (text.length > 3) {
    const look = { fill: textOn(colour), align: "center" } as const;
    pen.text(left + w / 2, y + (rowHeight - 4) / 2, text, look);
  }
  if (isLit) {
    pen.frame(left, y - 1, w, rowHeight - 2, colours.ink, 2);
  }
}

function hitOf(spans: Spans, i: number, row: string): Hit {
  const ns = spans.end[i] - spans.start[i];
  return {
    key: String(i),
    title: spans.labelOf(i),
    act: (e) => spans.act(i, e),
    lines: [[row, ""], ["", `${duration(ns)}  ${exact(ns)}`], ...spans.linesOf(i)],
  };
}
