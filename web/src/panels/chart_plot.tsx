/** Two columns of numbers against one another (uPlot): bars, a line, points. A click picks the row. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useAtom } from "../base/atom";
import { FONT } from "../base/dom";
import { blobOf, offer } from "../model/exports";
import { theme } from "../model/look";
import { tab } from "../model/session";

const LETTER_PX = 6;

export interface PlotAxis {
  name: string;
  /** "ms" */
  unit: string;
  /** One value of the axis as people read it. */
  text: (value: number) => string;
  /** The longest of them, in letters; not given: as numbers are. */
  mostLetters?: number;
}

export interface PlotProps {
  title: string;
  kind: "bars" | "line" | "points";
  /** Ascending. */
  x: number[];
  y: (number | null)[];
  of: { x: PlotAxis; y: PlotAxis };
  height: number;
  onPick: (i: number) => void;
}

export function PlotChart(p: PlotProps) {
  const colours = useAtom(theme);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(p);
  latest.current = p;
  useLayoutEffect(() => {
    const node = box.current!;
    const made = new uPlot(
      plotOptions(latest, node, colours),
      [p.x, p.y] as uPlot.AlignedData,
      node,
    );
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: Math.max(80, node.clientWidth), height: p.height }),
    );
    observer.observe(node);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [colours, p.x, p.y, p.kind, p.height]);
  useEffect(
    () =>
      offer({
        tab: tab.get(),
        title: () => latest.current.title,
        kinds: ["png"],
        make: () => onPage(plot.current!.ctx.canvas),
        isOff: () => plot.current === null || box.current?.offsetParent == null,
      }),
    [],
  );
  return (
    <figure class="chart-box">
      <div
        ref={box}
        class="curves query-plot"
        role="img"
        aria-label={p.title}
        style={{ height: `${p.height}px` }}
      />
    </figure>
  );
}

/** The picture lies on the ground of the page. */
function onPage(canvas: HTMLCanvasElement): Promise<Blob> {
  const sheet = document.createElement("canvas");
  sheet.width = canvas.width;
  sheet.height = canvas.height;
  const ctx = sheet.getContext("2d")!;
  ctx.fillStyle = theme.get().page;
  ctx.fillRect(0, 0, sheet.width, sheet.height);
  ctx.drawImage(canvas, 0, 0);
  return blobOf(sheet);
}

/** Room on both sides of the first and the last bar; a single value stands in the middle. */
function spanOf({ x, kind }: PlotProps): [number, number] {
  const [min, max] = [x[0] ?? 0, x[x.length - 1] ?? 1];
  const room = kind === "bars" ? Math.max(0.5, (max - min) / Math.max(1, x.length - 1) / 2) : 0;
  return max > min ? [min - room, max + room] : [min - Math.max(1, room), max + Math.max(1, room)];
}

function plotOptions(
  latest: { current: PlotProps },
  node: HTMLElement,
  colours: ReturnType<typeof theme.get>,
): uPlot.Options {
  const p = latest.current;
  const colour = colours.accent;
  const axis = {
    stroke: colours.quiet,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1, size: 4 },
    font: `11px ${FONT}`,
    labelFont: `11px ${FONT}`,
    labelSize: 18,
    labelGap: 0,
  };
  const labelOf = ({ name, unit }: PlotAxis): string => (unit === "" ? name : `${name} (${unit})`);
  const isWhole = p.x.every(Number.isInteger);
  return {
    width: Math.max(80, node.clientWidth),
    height: p.height,
    legend: { show: false },
    padding: [8, 16, 0, 0],
    scales: {
      x: { time: false, range: () => spanOf(latest.current) },
      y: { range: (_u, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : max < 0 ? 0 : 1] },
    },
    cursor: { drag: { x: false, y: false, setScale: false }, points: { size: 7 } },
    series: [
      {},
      {
        stroke: colour,
        width: p.kind === "bars" ? 0 : 1.5,
        ...(p.kind === "bars"
          ? { fill: colour, paths: uPlot.paths.bars!({ size: [0.8, 48], gap: 1 }) }
          : p.kind === "points"
            ? { paths: () => null }
            : {}),
        points: { show: p.kind === "points", size: 5, fill: colour, stroke: colour },
      },
    ],
    axes: [
      {
        ...axis,
        size: 30,
        space: Math.max(64, (p.of.x.mostLetters ?? 0) * LETTER_PX + 16),
        label: labelOf(p.of.x),
        ...(isWhole ? { incrs: WHOLE } : {}),
        values: (_u, ticks) => ticks.map((v) => latest.current.of.x.text(v)),
      },
      {
        ...axis,
        size: 64,
        label: labelOf(p.of.y),
        values: (_u, ticks) => ticks.map((v) => latest.current.of.y.text(v)),
      },
    ],
    hooks: {
      setCursor: [(u) => tell(u, latest.current)],
      ready: [
        (u) =>
          u.over.addEventListener("click", () => {
            const { idx } = u.cursor;
            if (idx !== null && idx !== undefined) {
              latest.current.onPick(idx);
            }
          }),
      ],
    },
  };
}

/** Steps between ticks of whole numbers. */
const WHOLE = [1, 2, 5]
  .flatMap((n) => Array.from({ length: 15 }, (_, i) => n * 10 ** i))
  .sort((a, b) => a - b);

/** What the point says where the pointer is; lies in the plot. */
function tell(u: uPlot, p: PlotProps): void {
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
  const value = p.y[idx];
  const line = (axis: PlotAxis, v: number): string =>
    `${axis.name}  ${axis.text(v)}${axis.unit === "" ? "" : ` ${axis.unit}`}`;
  tip.textContent = "";
  const head = document.createElement("b");
  head.textContent = line(p.of.x, p.x[idx]);
  const rest = document.createElement("div");
  rest.textContent = value === null || value === undefined ? "–" : line(p.of.y, value);
  tip.append(head, rest);
  const flip = left > u.over.clientWidth / 2;
  tip.style.left = flip ? "" : `${left + 12}px`;
  tip.style.right = flip ? `${u.over.clientWidth - left + 12}px` : "";
}
