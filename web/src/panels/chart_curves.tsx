/** Curves over time (uPlot): colours of the theme, drag to zoom, right button back, double click to all of it, a legend that takes curves
 * out, shaded spans, points that stand out. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useAtom } from "../base/atom";
import { FONT } from "../base/dom";
import { axisFor, moment, short, significant, tickText } from "../base/time";
import { blobOf, offer } from "../model/exports";
import { theme } from "../model/look";
import { tab } from "../model/session";
import { language } from "../words";
import { Legend, useOff } from "./drawing";

export interface Curve {
  name: string;
  colour: string;
  values: (number | null)[];
  /** A step from point to point instead of a slope. */
  isStep?: boolean;
  dash?: number[];
}

export interface Shade {
  from: number;
  to: number;
  colour: string;
  name: string;
}

export interface CurvesProps {
  title: string;
  /** ns, ascending; the same for all curves. */
  x: number[];
  curves: Curve[];
  /** "MB" */
  unit: string;
  height: number | "fill";
  shades?: Shade[];
  /** Times to mark. */
  marks?: number[];
  /** What is zoomed to; null: everything. */
  span: { from: number; to: number } | null;
  onSpan: (span: { from: number; to: number } | null) => void;
  /** A click; between which points of the curves it is, a few pixels to each side. */
  onPick?: (from: number, to: number) => void;
  /** The click was the first one of two. */
  onUnpick?: () => void;
  /** Time and values where the pointer is. */
  onCursor?: (at: number | null) => void;
}

export function Curves(p: CurvesProps) {
  const colours = useAtom(theme);
  useAtom(language);
  const [off, toggle] = useOff();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const before = useRef<CurvesProps["span"][]>([]);
  const zoom = (to: CurvesProps["span"]): void => {
    before.current.push(p.span);
    p.onSpan(to);
  };
  const latest = useRef(p);
  latest.current = { ...p, onSpan: zoom };

  useLayoutEffect(() => {
    const node = box.current!;
    const made = new uPlot(optionsOf(latest, node, colours, off), dataOf(p), node);
    plot.current = made;
    applySpan(made, p);
    const observer = new ResizeObserver(() =>
      made.setSize({
        width: Math.max(80, node.clientWidth),
        height: Math.max(80, node.clientHeight),
      }),
    );
    observer.observe(node);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [colours, p.x, p.curves, p.unit, off]);

  useEffect(() => {
    if (plot.current !== null) {
      applySpan(plot.current, p);
    }
  }, [p.span?.from, p.span?.to]);
  useEffect(() => plot.current?.redraw(false, false), [p.shades, p.marks]);
  useEffect(
    () =>
      offer({
        tab: tab.get(),
        title: () => latest.current.title,
        kinds: ["png"],
        make: () => picture(plot.current!.ctx.canvas),
        isOff: () => plot.current === null || box.current?.offsetParent === null,
      }),
    [],
  );

  return (
    <figure class={p.height === "fill" ? "chart-box fill-box" : "chart-box"}>
      <Legend series={p.curves.map((c) => ({ ...c, isLine: true }))} off={off} toggle={toggle} />
      <div
        ref={box}
        class="curves"
        role="img"
        aria-label={p.title}
        onContextMenu={(e) => {
          e.preventDefault();
          p.onSpan(before.current.pop() ?? null);
        }}
        style={
          p.height === "fill" ? { flex: "1 1 0", minHeight: "160px" } : { height: `${p.height}px` }
        }
      />
    </figure>
  );
}

const dataOf = (p: CurvesProps): uPlot.AlignedData =>
  [p.x, ...p.curves.map((c) => c.values)] as uPlot.AlignedData;

function applySpan(plot: uPlot, p: CurvesProps): void {
  const all = p.x.length === 0 ? [0, 1] : [p.x[0], p.x[p.x.length - 1]];
  const [min, max] =
    p.span === null ? [all[0], all[1] > all[0] ? all[1] : all[0] + 1] : [p.span.from, p.span.to];
  plot.setScale("x", { min, max });
}

/** The picture lies on the ground of the page. */
function picture(canvas: HTMLCanvasElement): Promise<Blob> {
  const sheet = document.createElement("canvas");
  sheet.width = canvas.width;
  sheet.height = canvas.height;
  const ctx = sheet.getContext("2d")!;
  ctx.fillStyle = theme.get().page;
  ctx.fillRect(0, 0, sheet.width, sheet.height);
  ctx.drawImage(canvas, 0, 0);
  return blobOf(sheet);
}

function optionsOf(
  latest: { current: CurvesProps },
  node: HTMLElement,
  colours: ReturnType<typeof theme.get>,
  off: ReadonlySet<number>,
): uPlot.Options {
  const p = latest.current;
  const axis = {
    stroke: colours.quiet,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1, size: 4 },
    font: `11px ${FONT}`,
  };
  const paths = uPlot.paths.stepped!({ align: 1 });
  return {
    width: Math.max(80, node.clientWidth),
    height: Math.max(80, node.clientHeight),
    legend: { show: false },
    padding: [8, 16, 0, 0],
    scales: { x: { time: false }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
    cursor: {
      // On a point of the curves: what the tip says holds there.
      move: (u, left, top) => [snapped(u, left), top],
      // uPlot takes a click for the end of a drag where the cursor is moved to a point: onClick() looks itself.
      drag: { x: true, y: false, setScale: false, click: () => undefined },
      points: { size: 6 },
      bind: {
        dblclick: () => () => {
          latest.current.onUnpick?.();
          latest.current.onSpan(null);
          return null;
        },
      },
    },
    series: [
      {},
      ...p.curves.map((c, i): uPlot.Series => ({
        label: c.name,
        stroke: c.colour,
        width: 1.5,
        show: !off.has(i),
        points: { show: false },
        spanGaps: true,
        ...(c.isStep === true ? { paths } : {}),
        ...(c.dash === undefined ? {} : { dash: c.dash }),
      })),
    ],
    axes: [
      {
        ...axis,
        size: 30,
        space: 80,
        values: (u, ticks) => {
          const [min, max] = [u.scales.x.min ?? 0, u.scales.x.max ?? 1];
          const scale = axisFor((max - min) / Math.max(1, u.width - 64), u.width - 64, max, 80);
          return ticks.map(
            (v, i) => `${tickText(v, scale)}${i === 0 ? ` ${scale.unit.name}` : ""}`,
          );
        },
      },
      {
        ...axis,
        size: 64,
        values: (_u, ticks) => ticks.map((v) => `${short(v)}${v === 0 ? ` ${p.unit}` : ""}`),
      },
    ],
    hooks: {
      setSelect: [
        (u) => {
          if (u.select.width > 4) {
            latest.current.onSpan({
              from: u.posToVal(u.select.left, "x"),
              to: u.posToVal(u.select.left + u.select.width, "x"),
            });
          }
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      setCursor: [
        (u) => {
          const { idx } = u.cursor;
          latest.current.onCursor?.(
            idx === null || idx === undefined ? null : latest.current.x[idx],
          );
          showTip(u, latest.current, off);
        },
      ],
      ready: [(u) => onClick(u.over, (e) => pick(u, e.offsetX, latest.current))],
      drawClear: [(u) => shade(u, latest.current)],
      draw: [(u) => mark(u, latest.current, colours.accent)],
    },
  };
}

const PICK_PX = 6;

/** A click, but not the end of a drag, nor the second one of two. */
function onClick(node: HTMLElement, then: (e: MouseEvent) => void): void {
  let down = 0;
  node.addEventListener("mousedown", (e) => (down = e.offsetX));
  node.addEventListener("click", (e) => {
    if (e.detail === 1 && Math.abs(e.offsetX - down) <= PICK_PX) {
      then(e);
    }
  });
}

function pick(u: uPlot, at: number, p: CurvesProps): void {
  if (p.x.length === 0) {
    return;
  }
  const [left, right] = [u.posToVal(at - PICK_PX, "x"), u.posToVal(at + PICK_PX, "x")];
  const near = p.x.flatMap((x, i) => (x >= left && x <= right ? [i] : []));
  const nearest = u.posToIdx(at);
  p.onPick?.(near[0] ?? nearest, near.at(-1) ?? nearest);
}

/** Where the point lies that the tip speaks of; outside of the plot as it is. */
function snapped(u: uPlot, left: number): number {
  const x = left < 0 ? undefined : u.data[0][u.posToIdx(left)];
  return x === undefined ? left : u.valToPos(x, "x");
}

function shade(u: uPlot, p: CurvesProps): void {
  const { ctx, bbox } = u;
  for (const s of p.shades ?? []) {
    const [x0, x1] = [u.valToPos(s.from, "x", true), u.valToPos(s.to, "x", true)];
    const left = Math.max(bbox.left, x0);
    ctx.fillStyle = s.colour;
    ctx.globalAlpha = 0.16;
    ctx.fillRect(
      left,
      bbox.top,
      Math.max(1, Math.min(bbox.left + bbox.width, x1) - left),
      bbox.height,
    );
    ctx.globalAlpha = 1;
  }
}

function mark(u: uPlot, p: CurvesProps, colour: string): void {
  const { ctx, bbox } = u;
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  for (const at of p.marks ?? []) {
    const x = u.valToPos(at, "x", true);
    if (x >= bbox.left && x <= bbox.left + bbox.width) {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
  }
}

/** What the curves say where the pointer is; lies in the plot. */
function showTip(u: uPlot, p: CurvesProps, off: ReadonlySet<number>): void {
  let tip = u.over.querySelector<HTMLElement>(".curve-tip");
  const { idx, left } = u.cursor;
  if (idx === null || idx === undefined || left === undefined || left < 0) {
    tip?.remove();
    return;
  }
  if (tip === null) {
    tip = document.createElement("div");
    tip.className = "hover-tip curve-tip";
    u.over.append(tip);
  }
  const at = p.x[idx];
  tip.textContent = "";
  const head = document.createElement("b");
  head.textContent = moment(at);
  tip.append(head);
  p.curves.forEach((c, i) => {
    const v = c.values[idx];
    if (!off.has(i) && v !== null && v !== undefined) {
      const line = document.createElement("div");
      const sign = document.createElement("i");
      sign.className = "key line";
      sign.style.background = c.colour;
      line.append(sign, `${c.name}  ${significant(v)} ${p.unit}`);
      tip.append(line);
    }
  });
  const flip = left > u.over.clientWidth / 2;
  tip.style.left = flip ? "" : `${left + 12}px`;
  tip.style.right = flip ? `${u.over.clientWidth - left + 12}px` : "";
}
