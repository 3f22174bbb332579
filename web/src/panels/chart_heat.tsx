/** A matrix as colours: rows by columns, with a range that the user may narrow. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { withHyphen } from "../base/time";
import { divergingOf, rampOf, textOn, type ViewerTheme } from "../base/theme";
import { cut, everyNth, type Pen } from "../base/pen";
import { t } from "../words";
import { Drawing, useColours, type Hit, type Size } from "./drawing";

/** Of labels: a line, and what stays free between two. */
const LINE_PX = 13;
const APART_PX = 4;

export interface HeatCell {
  row: number;
  column: number;
  /** NaN: not known. */
  value: number;
}

export interface HeatMapProps {
  title: string;
  rows: string[];
  columns: string[];
  /** Names of the two axes. */
  rowAxis: string;
  columnAxis: string;
  cells: HeatCell[];
  /** "GB/s" */
  unit: string;
  text: (value: number) => string;
  /** What a cell is; not given: by the names of its column and row. */
  titleOf?: (cell: HeatCell) => string;
  /** More to say of a cell. */
  lines?: (cell: HeatCell) => Hit["lines"];
  onCell?: (cell: HeatCell) => void;
  isMarked?: (cell: HeatCell) => boolean;
  /** Low is what asks for a look: the scale is turned round. */
  isLowStrong?: boolean;
  /** Values lie on both sides of 0. */
  isDifference?: boolean;
  height: number | "fill";
  /** Where the scale begins and ends, if not at the least and the largest value: what lies beyond has the colour of the end. */
  ends?: [least: number, most: number];
  /** Where the page keeps the range of colours. */
  range?: [Range, (range: Range) => void];
}

export interface ScaleOf {
  least: number;
  most: number;
  unit: string;
  text: (value: number) => string;
  /** Low is what asks for a look: the scale is turned round. */
  isLowStrong?: boolean;
  /** Values lie on both sides of 0. */
  isDifference?: boolean;
}

export interface Scale {
  colourOf: (value: number) => string;
  /** In the range that the user left. */
  isIn: (value: number) => boolean;
  /** A drawing with this scale depends on these. */
  low: number;
  high: number;
  /** The legend: its numbers are fields that narrow the range. */
  bar: ComponentChildren;
}

function numberIn(text: string, otherwise: number): number {
  const value = Number(withHyphen(text));
  return text.trim() !== "" && Number.isFinite(value) ? value : otherwise;
}

/** As typed; "": as far as the values go. */
export interface Range {
  least: string;
  most: string;
}

/** Values as colours, in a range that the user may narrow. `kept`: where the page keeps the range. */
export function useScale(of: ScaleOf, kept?: [Range, (range: Range) => void]): Scale {
  const colours = useColours();
  const ramp = useMemo(
    () =>
      of.isDifference === true ? divergingOf(colours, colours.lanes[2] ?? "") : rampOf(colours),
    [colours, of.isDifference],
  );
  const own = useState<Range>({ least: "", most: "" });
  const [range, setRange] = kept ?? own;
  const low = numberIn(range.least, of.least);
  const high = numberIn(range.most, of.most);
  const isEmpty = of.least > of.most;
  const colourOf = (value: number): string => {
    if (high <= low) {
      return ramp[of.isDifference === true ? ramp.length >> 1 : 0]; // all alike: none stands out
    }
    const x = (value - low) / (high - low);
    const at = Math.max(0, Math.min(1, of.isLowStrong === true ? 1 - x : x));
    return ramp[Math.round(at * (ramp.length - 1))];
  };
  const isIn = (value: number): boolean =>
    (range.least === "" || value >= low) && (range.most === "" || value <= high);
  const field = (end: "least" | "most") => (
    <input
      aria-label={t(`chart.${end}`)}
      placeholder={isEmpty ? "" : of.text(of[end])}
      value={range[end]}
      onInput={(e) => setRange({ ...range, [end]: e.currentTarget.value })}
    />
  );
  const bar = (
    <>
      <span class="quiet">{t("chart.range", of.unit)}</span>
      {field("least")}
      <i
        class="ramp"
        style={{
          background: `linear-gradient(to ${of.isLowStrong === true ? "left" : "right"}, ${ramp.join(",")})`,
        }}
        aria-hidden="true"
      />
      {field("most")}
      {(range.least !== "" || range.most !== "") && (
        <button type="button" onClick={() => setRange({ least: "", most: "" })}>
          {t("chart.reset")}
        </button>
      )}
    </>
  );
  return { colourOf, isIn, low, high, bar };
}

/** From where to where the colours go while the user has said nothing. */
export function rangeOf(
  p: Pick<HeatMapProps, "cells" | "isDifference" | "ends">,
): [least: number, most: number] {
  if (p.ends !== undefined) {
    return p.ends;
  }
  // Not spread into arguments: a thousand ranks have a million links at most.
  let [least, most] = [Infinity, -Infinity];
  for (const { value } of p.cells) {
    if (!Number.isNaN(value)) {
      least = Math.min(least, value);
      most = Math.max(most, p.isDifference === true ? Math.abs(value) : value);
    }
  }
  return [p.isDifference === true ? -most : least, most];
}

export function HeatMap(p: HeatMapProps) {
  const [least, most] = useMemo(() => rangeOf(p), [p.cells, p.isDifference, p.ends]);
  const { colourOf, isIn, low, high, bar } = useScale({ ...p, least, most }, p.range);
  const byPlace = useMemo(
    () => new Map(p.cells.map((c) => [c.row * p.columns.length + c.column, c])),
    [p.cells, p.columns.length],
  );
  const layout = (pen: Pick<Pen, "widthOf"> | null, size: Size) => {
    const left = Math.min(
      140,
      36 + Math.max(0, ...p.rows.map((r) => (pen === null ? r.length * 6.5 : pen.widthOf(r)))),
    );
    const top = 40;
    const cell = Math.max(
      1,
      Math.min(
        64,
        (size.width - left - 8) / Math.max(1, p.columns.length),
        (size.height - top - 8) / Math.max(1, p.rows.length),
      ),
    );
    return { left, top, cell };
  };
  const draw = (pen: Pen, size: Size, theme: ViewerTheme, hovered: Hit | null): void => {
    const { left, top, cell } = layout(null, size);
    const gap = cell > 6 ? 1 : 0;
    pen.text(left, 9, `${p.columnAxis} →`, { fill: theme.quiet });
    pen.text(10, top, `${p.rowAxis} →`, { fill: theme.quiet, turn: 90 });
    const every = everyNth(cell, LINE_PX);
    const across = everyNth(cell, Math.max(...p.columns.map((c) => pen.widthOf(c)), 0) + APART_PX);
    for (let c = 0; c < p.columns.length; c += across) {
      pen.text(
        left + (c + 0.5) * cell,
        top - 10,
        cut(pen, p.columns[c], Math.max(24, cell * across - 4)),
        { fill: theme.quiet, align: "center" },
      );
    }
    for (let r = 0; r < p.rows.length; r += every) {
      pen.text(left - 8, top + (r + 0.5) * cell, cut(pen, p.rows[r], left - 28), {
        fill: theme.quiet,
        align: "right",
      });
    }
    pen.frame(
      left - 1,
      top - 1,
      p.columns.length * cell + 2 - gap,
      p.rows.length * cell + 2 - gap,
      theme.line,
    );
    const labelled = cell >= 36 && p.cells.length <= 1024;
    for (const one of p.cells) {
      const [x, y] = [left + one.column * cell, top + one.row * cell];
      const isKnown = !Number.isNaN(one.value);
      const colour = isKnown ? colourOf(one.value) : theme.line;
      if (isKnown) {
        pen.rect(x, y, cell - gap, cell - gap, colour, isIn(one.value) ? 1 : 0.15);
      } else {
        pen.frame(x + 1, y + 1, cell - gap - 2, cell - gap - 2, colour);
      }
      if (labelled && isIn(one.value)) {
        pen.text(x + (cell - gap) / 2, y + (cell - gap) / 2, p.text(one.value), {
          fill: textOn(colour),
          align: "center",
          size: 11,
        });
      }
      if (p.isMarked?.(one) === true || hovered?.key === `${one.row} ${one.column}`) {
        pen.frame(x, y, cell - gap, cell - gap, theme.ink, 2);
      }
    }
  };
  const hit = (x: number, y: number, size: Size): Hit | null => {
    const { left, top, cell } = layout(null, size);
    const [column, row] = [Math.floor((x - left) / cell), Math.floor((y - top) / cell)];
    const found =
      column < 0 || column >= p.columns.length
        ? undefined
        : byPlace.get(row * p.columns.length + column);
    return found === undefined
      ? null
      : {
          key: `${row} ${column}`,
          title:
            p.titleOf?.(found) ??
            `${p.columnAxis} ${p.columns[column]}, ${p.rowAxis} ${p.rows[row]}`,
          lines: [
            ...(Number.isNaN(found.value)
              ? []
              : ([["", `${p.text(found.value)} ${p.unit}`]] as Hit["lines"])),
            ...(p.lines?.(found) ?? []),
          ],
          ...(p.onCell === undefined ? {} : { act: () => p.onCell!(found) }),
        };
  };
  return (
    <figure class={p.height === "fill" ? "chart-box fill-box" : "chart-box"}>
      <div class="heat-range">{bar}</div>
      <Drawing
        title={p.title}
        height={p.height}
        draw={draw}
        hit={hit}
        deps={[p.cells, p.rows, p.columns, p.unit, low, high, p.isMarked]}
      />
    </figure>
  );
}
