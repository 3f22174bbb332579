/** Bars: stacked ones along an axis of ranks or steps with lines of ratios over them, and ranked ones under one another. */
import { useMemo } from "preact/hooks";
import { percent, short, unitFor, significant, exact } from "../base/time";
import { cut, ticksOf, type Pen } from "../base/pen";
import type { ViewerTheme } from "../base/theme";
import { t } from "../words";
import { Drawing, Legend, useOff, type Hit, type Size } from "./drawing";

export interface Series {
  name: string;
  colour: string;
}

export interface Bar {
  label: string;
  /** One value a series, ns or another unit; null: none. */
  parts: (number | null)[];
  /** One value a line, 0..1. */
  ratios?: (number | null)[];
  /** Beside them in the tooltip. */
  more?: [string, string][];
  act?: () => void;
  isMarked?: boolean;
}

export interface StackedBarsProps {
  title: string;
  bars: Bar[];
  series: Series[];
  lines?: Series[];
  /** What stands at the axis below. */
  axis: string;
  height: number;
}

/** Bars that stand for `each` neighbours, so that none is thinner than two pixels: the largest of them, or the one that is marked. */
export function thinned(
  bars: readonly Bar[],
  room: number,
  heightOf: (bar: Bar) => number,
): { bars: readonly Bar[]; each: number } {
  const each = Math.ceil(bars.length / Math.max(1, Math.floor(room / 2)));
  if (each <= 1) {
    return { bars, each: 1 };
  }
  const out: Bar[] = [];
  for (let i = 0; i < bars.length; i += each) {
    const some = bars.slice(i, i + each);
    out.push(
      some.find((bar) => bar.isMarked === true) ??
        some.reduce((a, b) => (heightOf(b) > heightOf(a) ? b : a)),
    );
  }
  return { bars: out, each };
}

const LEFT = 64;
const RIGHT = 44;
const TOP = 10;
const BOTTOM = 36;

export function StackedBars({
  title,
  bars: all,
  series,
  lines = [],
  axis,
  height,
}: StackedBarsProps) {
  const [off, toggle] = useOff();
  const partsOn = series.map((_, i) => !off.has(i));
  const linesOn = lines.map((_, i) => !off.has(series.length + i));
  const heightOf = (b: Bar): number =>
    b.parts.reduce<number>((sum, v, i) => sum + (partsOn[i] ? (v ?? 0) : 0), 0);
  const most = useMemo(() => all.reduce((a, b) => Math.max(a, heightOf(b)), 0), [all, off]);
  const kept = useMemo(() => new Map<number, ReturnType<typeof thinned>>(), [all, off]);
  const shownIn = (size: Size): ReturnType<typeof thinned> => {
    const room = size.width - LEFT - right;
    const found = kept.get(room) ?? thinned(all, room, heightOf);
    kept.set(room, found);
    return found;
  };
  const unit = unitFor(most);
  const right = lines.length > 0 ? RIGHT : 12;
  const slot = (size: Size): number =>
    (size.width - LEFT - right) / Math.max(1, shownIn(size).bars.length);
  const draw = (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null): void => {
    const ticks = ticksIn(most / unit.ns, size);
    const top = ticks[ticks.length - 1] * unit.ns;
    const yOf = (v: number): number =>
      size.height - BOTTOM - (top > 0 ? v / top : 0) * (size.height - TOP - BOTTOM);
    axes(pen, size, colours, ticks, unit.name, right, lines.length > 0);
    const { bars, each } = shownIn(size);
    const w = slot(size);
    const gap = w > 8 ? Math.min(w * 0.25, 24) : w > 3 ? 1 : 0;
    const wide = Math.min(w - gap, 64);
    bars.forEach((bar, i) => {
      const x = LEFT + i * w;
      if (hovered?.key === String(i) || bar.isMarked === true) {
        pen.rect(
          x,
          TOP,
          w,
          size.height - TOP - BOTTOM,
          colours.accent,
          bar.isMarked === true ? 0.16 : 0.08,
        );
      }
      let sum = 0;
      bar.parts.forEach((v, s) => {
        if (partsOn[s] && v !== null && v > 0) {
          const [high, low] = [yOf(sum + v), yOf(sum)];
          pen.rect(
            x + (w - wide) / 2,
            high,
            Math.max(0.5, wide),
            Math.max(0, low - high),
            series[s].colour,
          );
          sum += v;
        }
      });
    });
    lines.forEach((line, l) => {
      if (linesOn[l]) {
        const points = bars.flatMap((bar, i) => {
          const v = bar.ratios?.[l];
          return v === null || v === undefined
            ? []
            : [
                LEFT + (i + 0.5) * w,
                size.height - BOTTOM - Math.min(1, v) * (size.height - TOP - BOTTOM),
              ];
        });
        pen.line(points, colours.page, 4);
        pen.line(points, line.colour, 2);
        for (let i = 0; w > 8 && i < points.length; i += 2) {
          pen.dot(points[i], points[i + 1], 4, colours.page);
          pen.dot(points[i], points[i + 1], 3, line.colour);
        }
      }
    });
    const widest = bars.reduce((a, b) => Math.max(a, pen.widthOf(b.label)), 0);
    const every = Math.max(1, Math.ceil((Math.min(widest, 96) + 12) / w));
    for (let i = 0; i < bars.length; i += every) {
      pen.text(LEFT + (i + 0.5) * w, size.height - BOTTOM + 11, cut(pen, bars[i].label, 96), {
        fill: colours.quiet,
        align: "center",
      });
    }
    const name = each > 1 ? t("chart.thinned", axis, String(each)) : axis;
    pen.text(LEFT, size.height - 7, name, { fill: colours.quiet });
  };
  const hit = (x: number, y: number, size: Size): Hit | null => {
    const i = Math.floor((x - LEFT) / slot(size));
    const bar = shownIn(size).bars[i];
    if (bar === undefined || x < LEFT || y < TOP) {
      return null;
    }
    return {
      key: String(i),
      title: bar.label,
      ...(bar.act === undefined ? {} : { act: bar.act }),
      lines: [
        ...series.map((s, n): Hit["lines"][0] => [
          s.name,
          bar.parts[n] === null || bar.parts[n] === undefined
            ? "–"
            : `${significant(bar.parts[n] / unit.ns)} ${unit.name}  ${exact(bar.parts[n])}`,
          s.colour,
        ]),
        ...lines.map((l, n): Hit["lines"][0] => [
          l.name,
          bar.ratios?.[n] === null || bar.ratios?.[n] === undefined
            ? "–"
            : `${percent(bar.ratios[n])} %`,
          l.colour,
        ]),
        ...(bar.more ?? []),
      ],
    };
  };
  return (
    <figure class="chart-box">
      <Legend
        series={[...series, ...lines.map((l) => ({ ...l, isLine: true }))]}
        off={off}
        toggle={toggle}
      />
      <Drawing
        title={title}
        height={height}
        draw={draw}
        hit={hit}
        deps={[all, series, lines, off, axis]}
      />
    </figure>
  );
}

const LEAST_TICKS = 3;

/** How far the last tick may be above the highest bar, where more ticks can help. */
const MOST_ABOVE = 1.25;

/** About `n`, the last at the highest bar or above it, but not far, and so many below that its end is read: 0, 500 and 1000 say little of 800. */
export function ticksUpTo(most: number, n: number, densest = 2 * n): number[] {
  const ticks = ticksOf(0, most, n);
  const last = ticks[ticks.length - 1];
  const all = last < most ? [...ticks, Number((last + ticks[1]).toPrecision(12))] : ticks;
  const isGood = ticks.length >= LEAST_TICKS && all[all.length - 1] <= MOST_ABOVE * most;
  return isGood || n >= densest || !(most > 0) ? all : ticksUpTo(most, n + 1, densest);
}

const ticksIn = (most: number, size: Size): number[] =>
  ticksUpTo(most, Math.max(2, Math.floor((size.height - BOTTOM - TOP) / 36)));

function axes(
  pen: Pen,
  size: Size,
  colours: ViewerTheme,
  ticks: number[],
  unit: string,
  right: number,
  hasRatio: boolean,
): void {
  const bottom = size.height - BOTTOM;
  const top = ticks[ticks.length - 1];
  for (const tick of ticks) {
    const y = bottom - (top > 0 ? tick / top : 0) * (bottom - TOP);
    pen.line([LEFT, Math.round(y) + 0.5, size.width - right, Math.round(y) + 0.5], colours.line);
    pen.text(LEFT - 8, y, tick === 0 ? `0 ${unit}` : short(tick), {
      fill: colours.quiet,
      align: "right",
    });
  }
  if (hasRatio) {
    for (const tick of [0, 25, 50, 75, 100]) {
      pen.text(size.width - right + 8, bottom - (tick / 100) * (bottom - TOP), `${tick} %`, {
        fill: colours.quiet,
      });
    }
  }
}

export interface RankedBar {
  label: string;
  value: number;
  /** "12.4 ms" */
  text: string;
  /** 0..1 */
  share: number;
  colour: string;
  title?: string;
  act?: () => void;
  isMarked?: boolean;
}

/** Sorted bars with their names and shares: what a pie would show, to be read. */
export function RankedBars({
  title,
  bars,
  label,
}: {
  title: string;
  bars: RankedBar[];
  label?: string;
}) {
  const most = Math.max(...bars.map((b) => b.value), 0);
  const row = 22;
  /** Names are read as far as 55 % of the width go; bars have what is left. */
  const nameW = (pen: Pen, size: Size): number => {
    const widest = Math.max(...bars.map((bar) => pen.widthOf(bar.label, 12)), 0) + 20;
    return Math.max(96, Math.min(widest, 0.55 * size.width));
  };
  const draw = (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null): void => {
    const left = nameW(pen, size);
    const room = Math.max(20, size.width - left - 132);
    bars.forEach((bar, i) => {
      const y = i * row;
      if (hovered?.key === String(i) || bar.isMarked === true) {
        pen.rect(
          0,
          y,
          size.width,
          row,
          bar.isMarked === true ? colours.accent : colours.panel,
          bar.isMarked === true ? 0.14 : 1,
        );
      }
      pen.text(8, y + row / 2, cut(pen, bar.label, left - 20, 12), { fill: colours.ink, size: 12 });
      const w = most > 0 ? (bar.value / most) * room : 0;
      pen.rect(left, y + 4, Math.max(1, w), row - 8, bar.colour);
      pen.text(size.width - 56, y + row / 2, bar.text, {
        fill: colours.ink,
        size: 11,
        align: "right",
      });
      pen.text(size.width - 8, y + row / 2, `${percent(bar.share)} %`, {
        fill: colours.quiet,
        size: 11,
        align: "right",
      });
    });
  };
  const hit = (_x: number, y: number): Hit | null => {
    const i = Math.floor(y / row);
    const bar = bars[i];
    return bar === undefined
      ? null
      : {
          key: String(i),
          title: bar.title ?? bar.label,
          lines: [
            [label ?? "", bar.text],
            ["", `${percent(bar.share)} %`],
          ],
          ...(bar.act === undefined ? {} : { act: bar.act }),
        };
  };
  return (
    <Drawing
      title={title}
      height={Math.max(row, bars.length * row)}
      draw={draw}
      hit={hit}
      deps={[bars]}
    />
  );
}
