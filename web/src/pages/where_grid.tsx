/** The ranks of a job where they stand, each coloured by a figure; lines join those that talk to one another. */
import { useMemo } from "preact/hooks";
import { everyNth, type Pen } from "../base/pen";
import { textOn, type ViewerTheme } from "../base/theme";
import type { Scale } from "../panels/chart_heat";
import { Drawing, type Hit, type Size } from "../panels/drawing";
import { t } from "../words";
import {
  cornerOf,
  dimsOf,
  DOT_PX,
  gridFor,
  linkOffset,
  NUMBER_PX,
  placeAt,
  type Dimension,
  type Grid,
  type GridDims,
  type Spot,
} from "./where_model";

/** A rank, or several that are folded into one: it has the largest figure of them, and leads to that rank. */
export interface Box {
  spot: Spot;
  ranks: string[];
  /** Of the scale; undefined: not known. */
  value: number | undefined;
  /** The filter lets it through. */
  isIn: boolean;
}

export interface Link {
  kind: Dimension;
  /** In the order in which they are joined. */
  boxes: Box[];
}

export interface WhereGridProps {
  title: string;
  boxes: Box[];
  scale: Scale;
  text: (value: number) => string;
  titleOf: (box: Box) => string;
  linesOf: (box: Box) => Hit["lines"];
  linksOf: (box: Box) => Link[];
  /** That is kept: framed, with its links. */
  kept: Box | null;
  keep: (box: Box | null) => void;
  go: (box: Box) => void;
  height: number;
}

const LEFT = 64;
const TOP = 24;
const RIGHT = 8;
/** A value fits in such cells, a rank's number in smaller ones. */
const VALUE_PX = 40;
const HATCH_PX = 8;
/** From that side on a box has room for two frames. */
const FRAMES_PX = 12;

/** The same in every picture; beside any colour of the scale, which has one hue. */
export const linkColour = (kind: Dimension, colours: ViewerTheme): string =>
  ({
    tp: colours.phases[3],
    pp: colours.phases[0],
    dp: colours.phases[5],
    cp: colours.kinds[5],
    ep: colours.phases[4],
  })[kind] ?? colours.ink;

const gridIn = (dims: GridDims, width: number): Grid => gridFor(dims, width - LEFT - RIGHT, 480);

/** Room for as large cells as that width allows, and no more: what stands beside the grid is near it. */
export function roomFor(boxes: Box[], width: number): Size {
  const grid = gridIn(dimsOf(boxes.map((b) => b.spot)), width);
  return {
    width: Math.ceil(grid.width) + LEFT + RIGHT,
    height: Math.ceil(grid.height) + TOP + 8,
  };
}

const keyOf = (s: { pp: number; dp: number; cp: number; tp: number }): string =>
  `${s.pp} ${s.dp} ${s.cp} ${s.tp}`;

export function WhereGrid(p: WhereGridProps) {
  const dims = useMemo(() => dimsOf(p.boxes.map((b) => b.spot)), [p.boxes]);
  const byPlace = useMemo(() => new Map(p.boxes.map((b) => [keyOf(b.spot), b])), [p.boxes]);
  const gridOf = useMemo(() => {
    let last: { size: string; grid: Grid } | null = null;
    return (size: Size): Grid => {
      const text = `${size.width} ${size.height}`;
      if (last?.size !== text) {
        last = {
          size: text,
          grid: gridFor(dims, size.width - LEFT - RIGHT, size.height - TOP - 8),
        };
      }
      return last.grid;
    };
  }, [dims]);
  const boxAt = (x: number, y: number, size: Size): Box | undefined => {
    const place = placeAt(gridOf(size), x - LEFT, y - TOP);
    return place === null ? undefined : byPlace.get(keyOf(place));
  };
  const draw = (pen: Pen, size: Size, theme: ViewerTheme): void => {
    const grid = gridOf(size);
    drawAxes(pen, grid, dims, theme);
    for (const box of p.boxes) {
      drawBox(pen, grid, box, p, theme);
    }
  };
  const drawOver = (pen: Pen, size: Size, theme: ViewerTheme, hovered: Hit | null): void => {
    const grid = gridOf(size);
    const lit = hovered === null ? p.kept : (byPlace.get(hovered.key) ?? null);
    if (lit !== null) {
      p.linksOf(lit).forEach((link) => drawLink(pen, grid, link, theme));
    }
    for (const box of [lit, p.kept]) {
      if (box !== null) {
        const [x, y] = cornerOf(grid, box.spot);
        const side = Math.max(grid.cell, 4);
        pen.frame(LEFT + x - 1, TOP + y - 1, side + 2, side + 2, theme.ink, 2);
        if (side >= FRAMES_PX) {
          // A second one: the first has the colour of the largest boxes.
          pen.frame(LEFT + x + 1, TOP + y + 1, side - 2, side - 2, theme.page, 2);
        }
      }
    }
  };
  const hit = (x: number, y: number, size: Size): Hit | null => {
    const box = boxAt(x, y, size);
    return box === undefined
      ? null
      : {
          key: keyOf(box.spot),
          title: p.titleOf(box),
          lines: p.linesOf(box),
          act: (e) => (e.shiftKey ? p.keep(box) : p.go(box)),
        };
  };
  const onKeyDown = (e: KeyboardEvent, size: Size): void => {
    const [dx, dy] = ARROWS[e.key] ?? [0, 0];
    if (dx !== 0 || dy !== 0) {
      p.keep(p.kept === null ? p.boxes[0] : neighbour(gridOf(size), p.kept, dx, dy, byPlace));
    } else if (e.key === "Enter" && p.kept !== null) {
      p.go(p.kept);
    } else if (e.key === "Escape" && p.kept !== null) {
      p.keep(null);
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <Drawing
      title={p.title}
      height={p.height}
      draw={draw}
      drawOver={drawOver}
      hit={hit}
      onKeyDown={onKeyDown}
      deps={[p.boxes, p.scale.low, p.scale.high, p.kept, p.linksOf]}
    />
  );
}

const ARROWS: Readonly<Record<string, [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The next box in that direction; at the edge the same. */
function neighbour(
  grid: Grid,
  from: Box,
  dx: number,
  dy: number,
  byPlace: ReadonlyMap<string, Box>,
): Box {
  const [x, y] = cornerOf(grid, from.spot).map((v) => v + grid.cell / 2);
  for (let n = 1; n <= 3; n++) {
    const [over, down] = [dx * n * (grid.cell + grid.gap), dy * n * (grid.cell + grid.stageGap)];
    const place =
      placeAt(grid, x + over, y + down) ?? placeAt(grid, x + dx * grid.cell, y + dy * grid.cell);
    const found = place === null ? undefined : byPlace.get(keyOf(place));
    if (found !== undefined) {
      return found;
    }
  }
  return from;
}

function drawAxes(pen: Pen, grid: Grid, dims: GridDims, theme: ViewerTheme): void {
  const quiet = { fill: theme.quiet };
  const band = grid.lines * grid.cell + grid.stageGap;
  const every = everyNth(band, 13);
  for (let pp = 0; dims.pp > 1 && pp < dims.pp; pp += every) {
    const middle = TOP + pp * band + (band - grid.stageGap) / 2;
    pen.text(LEFT - 8, middle, t("where.stage", pp), { ...quiet, align: "right" });
  }
  const block = grid.inner * grid.cell + grid.gap;
  const widest = pen.widthOf(t("where.replica", dims.dp - 1)) + 8;
  const apart = everyNth(block, widest);
  for (let dp = 0; dims.dp > 1 && grid.lines === 1 && dp < dims.dp; dp += apart) {
    pen.text(LEFT + dp * block, TOP - 10, t("where.replica", dp), quiet);
  }
}

function drawBox(pen: Pen, grid: Grid, box: Box, p: WhereGridProps, theme: ViewerTheme): void {
  const [left, top] = cornerOf(grid, box.spot);
  const [x, y] = [LEFT + left, TOP + top];
  const side = grid.cell - (grid.cell > 4 ? 1 : 0);
  const { value } = box;
  if (value === undefined) {
    drawUnknown(pen, x, y, side, box.isIn, theme);
  } else {
    const isIn = box.isIn && p.scale.isIn(value);
    const colour = p.scale.colourOf(value);
    pen.rect(x, y, side, side, colour, isIn ? 1 : 0.15);
    if (isIn && side >= NUMBER_PX) {
      drawNumbers(pen, x, y, side, box, p.text(value), textOn(colour));
    }
    return;
  }
  if (side >= NUMBER_PX) {
    drawNumbers(pen, x, y, side, box, "?", theme.quiet);
  }
}

function drawNumbers(
  pen: Pen,
  x: number,
  y: number,
  side: number,
  box: Box,
  value: string,
  fill: string,
): void {
  const look = { fill, align: "center" as const };
  const rank = box.ranks.length === 1 ? box.spot.rank : `×${box.ranks.length}`;
  const fits = (text: string): boolean => pen.widthOf(text) <= side - 2;
  if (side >= VALUE_PX - 1 && fits(value)) {
    pen.text(x + side / 2, y + side * 0.3, rank, look);
    pen.text(x + side / 2, y + side * 0.7, value, { ...look, weight: 600 });
  } else if (fits(rank)) {
    pen.text(x + side / 2, y + side / 2, rank, look);
  }
}

/** Empty with a stroke through it: it has no colour of the scale. */
function drawUnknown(
  pen: Pen,
  x: number,
  y: number,
  side: number,
  isIn: boolean,
  theme: ViewerTheme,
): void {
  if (isIn && side >= HATCH_PX) {
    pen.frame(x, y, side, side, theme.line);
    pen.line([x + 1, y + side - 1, x + side - 1, y + 1], theme.line);
  }
}

function drawLink(pen: Pen, grid: Grid, link: Link, theme: ViewerTheme): void {
  const colour = linkColour(link.kind, theme);
  const inside = linkOffset(grid);
  const points = link.boxes.flatMap((box) => {
    const [x, y] = cornerOf(grid, box.spot);
    return [LEFT + x + inside, TOP + y + inside];
  });
  // A halo of the page's colour: of the boxes some are as dark as the line.
  for (const [more, of] of [
    [2, theme.page],
    [0, colour],
  ] as const) {
    pen.line(points, of, 2 + 2 * more);
    for (let i = 0; grid.cell >= HATCH_PX && i < points.length; i += 2) {
      pen.dot(points[i], points[i + 1], Math.min(DOT_PX, grid.cell / 4) + more, of);
    }
  }
}
