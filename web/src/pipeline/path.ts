/** The critical path: what each of its ops adds to the step, and the line that shows it. */
import type { Chart } from "./model";

export interface PathLink {
  op: number;
  /** How long of it decided the step, and what was waited before it. */
  computing: number;
  waiting: number;
  /** What it followed; -1: it is the first. */
  after: number;
  /** All links of its step and pipeline, computing and waiting. */
  wholeNs: number;
}

/** From the first link to the last; `path` goes from the step's end to its start (src/analyze/pipeline/bubble.c, walk_critical_path). */
export function linksOf(chart: Chart, path: readonly number[], startNs: number): PathLink[] {
  let at = path.length === 0 ? 0 : chart.end[path[0]]; // all later is counted
  const wholeNs = at - startNs;
  const out = path.map((op, i): PathLink => {
    const next = path[i + 1];
    const ended = next === undefined ? startNs : chart.end[next];
    const isOther = next !== undefined && chart.rank[next] !== chart.rank[op];
    const from = Math.min(at, isOther ? Math.max(chart.start[op], ended) : chart.start[op]);
    const computing = at - from;
    at = Math.min(ended, from);
    return { op, computing, waiting: from - at, after: next ?? -1, wholeNs };
  });
  return out.reverse();
}

/** A step of a pipeline. */
const partOf = (chart: Chart, op: number): string =>
  `${chart.step[op]} ${chart.ranks[chart.rank[op]].pipeline}`;

const deciding = new WeakMap<Chart, Set<number>>();

/** Whether an op of a path is on the one of the pipeline that makes its step as long as it is; of several that take as long, the first. */
export function isDeciding(chart: Chart, op: number): boolean {
  let found = deciding.get(chart);
  if (found === undefined) {
    const longest = new Map<number, Chart["windows"][number]>();
    for (const window of chart.windows) {
      const now = longest.get(window.step);
      if (now === undefined || window.end - window.start > now.end - now.start) {
        longest.set(window.step, window);
      }
    }
    const parts = new Set([...longest.values()].map((w) => `${w.step} ${w.pipeline}`));
    found = new Set([...chart.path].filter((on) => parts.has(partOf(chart, on))));
    deciding.set(chart, found);
  }
  return found.has(op);
}

/** The ops of each path, from its end to its start, by "step pipeline". */
export function pathsOf(chart: Chart): Map<string, number[]> {
  const paths = new Map<string, number[]>();
  for (const op of chart.path) {
    const key = partOf(chart, op);
    (paths.get(key) ?? paths.set(key, []).get(key)!).push(op);
  }
  return paths;
}

const known = new WeakMap<Chart, Map<number, PathLink>>();

/** The link that an op is; null: it is on no path. */
export function linkOf(chart: Chart, op: number): PathLink | null {
  let links = known.get(chart);
  if (links === undefined) {
    links = new Map();
    const paths = pathsOf(chart);
    for (const window of chart.windows) {
      const path = paths.get(`${window.step} ${window.pipeline}`) ?? [];
      for (const link of linksOf(chart, path, window.start)) {
        links.set(link.op, link);
      }
    }
    known.set(chart, links);
  }
  return links.get(op) ?? null;
}

/** A piece of the line: along an op, or from an op back to the one that it followed. */
export interface PathPiece {
  op: number;
  /** The op that it followed; -1: the piece is along the op. */
  after: number;
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** The line of all paths; `placeOf` an op: from and to where its foot goes, null where it is not shown. */
export function piecesOf(
  chart: Chart,
  placeOf: (op: number) => { from: number; to: number; y: number } | null,
): PathPiece[] {
  const pieces: PathPiece[] = [];
  let before = -1;
  for (const op of chart.path) {
    const place = placeOf(op);
    if (place === null) {
      before = -1;
      continue;
    }
    const isNext = before >= 0 && partOf(chart, before) === partOf(chart, op);
    const last = pieces[pieces.length - 1];
    if (isNext) {
      pieces.push({ op: before, after: op, x0: last.x1, y0: last.y1, x1: place.to, y1: place.y });
    }
    pieces.push({ op, after: -1, x0: place.to, y0: place.y, x1: place.from, y1: place.y });
    before = op;
  }
  return pieces;
}

export function tracePieces(ctx: CanvasRenderingContext2D, pieces: PathPiece[]): void {
  ctx.beginPath();
  pieces.forEach(({ x0, y0, x1, y1 }, i) => {
    const last = pieces[i - 1];
    if (last?.x1 !== x0 || last.y1 !== y0) {
      ctx.moveTo(x0, y0);
    }
    ctx.lineTo(x1, y1);
  });
}

const NEAR_PX = 4;

/** The piece that is nearest to a place, null: none is near. */
export const pieceNear = (pieces: PathPiece[], x: number, y: number): PathPiece | null =>
  nearestOf(pieces, x, y, NEAR_PX).best;

const ON_PX = 2;
const APART_PX = 8;

/** The piece from one op to the next on which a place is exactly, for where something else is that people want, too: null where lines are
 * so close together that nothing else could be reached. */
export function pieceOver(pieces: PathPiece[], x: number, y: number): PathPiece | null {
  const between = pieces.filter(({ after }) => after >= 0);
  const { best, n } = nearestOf(between, x, y, APART_PX);
  return n === 1 ? nearestOf([best!], x, y, ON_PX).best : null;
}

/** `n`: how many are nearer than that. */
function nearestOf(
  pieces: PathPiece[],
  x: number,
  y: number,
  nearPx: number,
): { best: PathPiece | null; n: number } {
  let best: PathPiece | null = null;
  let nearest = nearPx;
  let n = 0;
  for (const piece of pieces) {
    const { x0, y0, x1, y1 } = piece;
    const length = (x1 - x0) ** 2 + (y1 - y0) ** 2;
    const along = length > 0 ? ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length : 0;
    const at = Math.max(0, Math.min(1, along));
    const far = Math.hypot(x - x0 - at * (x1 - x0), y - y0 - at * (y1 - y0));
    n += far < nearPx ? 1 : 0;
    if (far < nearest) {
      best = piece;
      nearest = far;
    }
  }
  return { best, n };
}
