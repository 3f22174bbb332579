/** What lies over the blocks: those of the microbatch that is looked at, arrows from results to what needed them, and a frame
 * around one block. */
import { FONT } from "../base/dom";
import { rgb, textOn } from "../base/theme";
import { stepBelow } from "./below";
import { fit, LEVELS, LEVELS_FLAT } from "./labels";
import { isTransfer, type Chart } from "./model";
import { LABEL_SIZE, textsOf, yOf, type Painter, type Sight } from "./painter";
import { colourOf } from "./panels";
import { pieceNear, pieceOver, piecesOf, tracePieces, type PathPiece } from "./path";
import { firstAfter } from "./rows";
import { tierSpan, type LaneKind } from "./scene";
import { isGap, isTheory, laneOf, type Target } from "./targets";

/** The ops that stand out, in what was measured and in what lies below it: those of some microbatches in a step, or one alone. */
export interface Lit {
  /** How much labels of each chart stand out; null: `only` alone. */
  labels: { measured: Uint8Array; below: Uint8Array } | null;
  /** The one that is pointed at, and the other of its pair. */
  microbatches: number[];
  /** Of the measured chart. */
  step: number;
  only: { isBelow: boolean; op: number };
}

const MAX_ARROWS = 3000;

/** How much a block stands out: it is of the microbatch that is pointed at, or of the other of its pair alone. */
const CHOSEN = 2;
const BESIDE = 1;
const BESIDE_ALPHA = 0.4;

const labelsOf = (chart: Chart, [chosen, ...others]: number[]): Uint8Array =>
  Uint8Array.from(chart.labels, ({ microbatch, microbatch2 }) =>
    microbatch === chosen || microbatch2 === chosen
      ? CHOSEN
      : others.includes(microbatch) || others.includes(microbatch2)
        ? BESIDE
        : 0,
  );

/** Ops of the same microbatch, and fainter those of the other of a pair; of one without a microbatch, itself. */
export function litBy(s: Sight, target: Target): Lit | null {
  if (isGap(target)) {
    return null;
  }
  const isBelow = isTheory(target);
  const chart = isBelow ? s.against! : s.chart;
  const op = laneOf(s.view, target).id[target.index];
  const label = chart.labels[chart.label[op]];
  const microbatches = [...new Set([label.microbatch, label.microbatch2].filter((m) => m >= 0))];
  if (target.isSecond === true) {
    microbatches.reverse();
  }
  return {
    microbatches,
    step: isBelow ? stepBelow(s.chart, s.view, target.row, target.index) : chart.step[op],
    only: { isBelow, op },
    labels:
      microbatches.length === 0
        ? null
        : {
            measured: labelsOf(s.chart, microbatches),
            below: s.against === null ? new Uint8Array(0) : labelsOf(s.against, microbatches),
          },
  };
}

export function lightOf(lit: Lit, chart: Chart, op: number): number {
  if (lit.labels === null) {
    return !lit.only.isBelow && op === lit.only.op ? CHOSEN : 0;
  }
  return chart.step[op] === lit.step ? lit.labels.measured[chart.label[op]] : 0;
}

/** Of what lies below, by its place in the lane. */
export function lightBelow(lit: Lit, s: Sight, row: number, index: number): number {
  const op = s.view.rows[row].theory.id[index];
  if (lit.labels === null) {
    return lit.only.isBelow && op === lit.only.op ? CHOSEN : 0;
  }
  const light = lit.labels.below[s.against!.label[op]];
  return light > 0 && stepBelow(s.chart, s.view, row, index) === lit.step ? light : 0;
}

/** Links of a chart by the microbatch of the op they come from: followed without looking at all of them. */
export class Links {
  private by: { first: Uint32Array; links: Uint32Array } | null = null;

  constructor(readonly chart: Chart) {}

  private index(): { first: Uint32Array; links: Uint32Array } {
    if (this.by !== null) {
      return this.by;
    }
    const { chart } = this;
    const keys = (link: number): number[] => {
      const l = chart.labels[chart.label[chart.links.from[link]]];
      return l.microbatch2 >= 0 && l.microbatch2 !== l.microbatch
        ? [l.microbatch, l.microbatch2]
        : [l.microbatch];
    };
    const most = chart.labels.reduce((n, l) => Math.max(n, l.microbatch, l.microbatch2), -1);
    const first = new Uint32Array(most + 3);
    for (let i = 0; i < chart.links.n; i++) {
      for (const m of keys(i)) {
        first[m + 2] += m >= 0 ? 1 : 0;
      }
    }
    for (let m = 1; m < first.length; m++) {
      first[m] += first[m - 1];
    }
    const at = first.slice(1);
    const links = new Uint32Array(first[first.length - 1]);
    for (let i = 0; i < chart.links.n; i++) {
      for (const m of keys(i)) {
        if (m >= 0) {
          links[at[m]++] = i;
        }
      }
    }
    this.by = { first: first.subarray(1), links };
    return this.by;
  }

  prepare(): void {
    this.index();
  }

  /** Between ops of the microbatch that is pointed at. */
  of(lit: Lit): number[] {
    const { first, links } = this.index();
    const { from, to } = this.chart.links;
    const [m] = lit.microbatches;
    const isChosen = (op: number): boolean => lightOf(lit, this.chart, op) === CHOSEN;
    return m === undefined
      ? []
      : [...links.subarray(first[m] ?? 0, first[m + 1] ?? 0)].filter(
          (i) => isChosen(from[i]) && isChosen(to[i]),
        );
  }
}

export class Overlay {
  private links: Links | null = null;
  private rowOfRank = new Int32Array(0);
  private litFor: Target | null = null;
  private lit: Lit | null = null;
  private litLinks: number[] = [];
  /** There are more arrows in sight than anybody could follow: none is drawn. */
  tooMany = false;

  constructor(private readonly painter: Painter) {}

  /** Another choice of rows, or another chart. */
  reset(s: Sight): void {
    this.litFor = this.lit = null;
    this.litLinks = [];
    this.links = this.links?.chart === s.chart ? this.links : new Links(s.chart);
    this.rowOfRank = new Int32Array(s.chart.ranks.length).fill(-1);
    s.view.rows.forEach((row, i) => row.rankRow >= 0 && (this.rowOfRank[row.rankRow] = i));
  }

  /** Makes beforehand what the first block under the pointer would wait for. */
  prepare(): void {
    this.links?.prepare();
  }

  /** `ctx`: its unit is a CSS pixel. */
  paint(
    s: Sight,
    ctx: CanvasRenderingContext2D,
    target: Target | null,
    allArrows: boolean,
    withPath: boolean,
  ): void {
    ctx.clearRect(0, 0, s.width, s.height);
    if (target !== this.litFor) {
      this.litFor = target;
      this.lit = target === null ? null : litBy(s, target);
      this.litLinks = this.lit === null ? [] : this.links!.of(this.lit);
    }
    const { lit } = this;
    if (lit !== null) {
      const [r, g, b] = rgb(s.theme.page);
      ctx.fillStyle = `rgba(${r},${g},${b},0.4)`;
      ctx.fillRect(0, 0, s.width, s.height);
      for (let row = s.firstRow; row < s.stopRow; row++) {
        for (const kind of ["ops", "transfers", "theory"] as const) {
          this.paintLit(s, ctx, row, kind, lit);
        }
      }
    }
    this.tooMany = false;
    if (withPath) {
      this.paintPath(s, ctx);
    }
    if (lit !== null) {
      this.paintArrows(s, ctx, this.litLinks, true);
    } else if (allArrows) {
      this.paintArrows(s, ctx, null, false);
    }
    if (target !== null) {
      this.paintFrame(s, ctx, target);
    }
  }

  private box(
    s: Sight,
    row: number,
    kind: Target["lane"],
    index: number,
  ): [number, number, number, number] {
    const lane = s.view.rows[row][kind];
    const { blockH, theoryY, theoryH, transferY, transferH } = s.scene;
    const theory = kind === "theory" || kind === "theoryBubbles";
    const tier = kind === "ops" ? (s.view.rows[row].tiers?.of[index] ?? 0) : 0;
    const [top, height] = tierSpan(tier, blockH);
    const y = yOf(s, row) + (theory ? theoryY : kind === "transfers" ? transferY : top);
    const h = theory ? theoryH : kind === "transfers" ? transferH : height;
    const x0 = Math.max(-4, s.viewport.x(lane.start[index]));
    const x1 = Math.min(s.width + 4, s.viewport.x(lane.end[index]));
    const w = x1 - x0;
    return [x0, y, w > 3 ? w - 1 : Math.max(1, w), h];
  }

  private paintLit(
    s: Sight,
    ctx: CanvasRenderingContext2D,
    rowIndex: number,
    kind: LaneKind,
    lit: Lit,
  ): void {
    const lane = s.view.rows[rowIndex][kind];
    const isBelow = kind === "theory";
    ctx.font = `500 ${LABEL_SIZE}px ${FONT}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    const stopNs = s.viewport.to;
    for (let i = firstAfter(lane, s.viewport.from); i < lane.n && lane.start[i] < stopNs; i++) {
      const op = lane.id[i];
      const light = isBelow ? lightBelow(lit, s, rowIndex, i) : lightOf(lit, s.chart, op);
      if (light === 0) {
        continue;
      }
      ctx.globalAlpha = light === CHOSEN ? 1 : BESIDE_ALPHA;
      const [x, y, w, h] = this.box(s, rowIndex, kind, i);
      const colour = colourOf(s.theme, lane.look[i]);
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.roundRect(x, y, w, h, w > 6 && kind !== "transfers" ? 2 : 0);
      ctx.fill();
      if (h >= s.shapes.name_height && w > 8) {
        const stop = h >= s.shapes.two_lines_height ? LEVELS : LEVELS_FLAT;
        const first = Math.min(
          this.painter.shortened[isBelow ? "theory" : "ops"]?.level(
            rowIndex,
            lane.look[i],
            (w - 2) * s.ratio,
          ) ?? 0,
          stop - 1,
        );
        const lines = fit(
          textsOf(isBelow ? s.against! : s.chart, op),
          first,
          stop,
          w - 2,
          (t) => ctx.measureText(t).width,
        ).split("\n");
        ctx.fillStyle = textOn(colour);
        lines.forEach((line, k) =>
          ctx.fillText(
            line,
            x + w / 2,
            y + h / 2 + 0.5 + (k - (lines.length - 1) / 2) * LABEL_SIZE,
          ),
        );
      }
    }
    ctx.globalAlpha = 1;
  }

  private paintFrame(s: Sight, ctx: CanvasRenderingContext2D, target: Target): void {
    const [x, y, w, h] = this.box(s, target.row, target.lane, target.index);
    ctx.strokeStyle = s.theme.ink;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.roundRect(x - 0.75, y - 0.75, w + 1.5, h + 1.5, 2);
    ctx.stroke();
  }

  /** `links` null: all of the chart. */
  private paintArrows(
    s: Sight,
    ctx: CanvasRenderingContext2D,
    links: number[] | null,
    areLit: boolean,
  ): void {
    const { chart } = s;
    const { from, to } = chart.links;
    const t0 = s.viewport.from + s.view.originNs;
    const t1 = s.viewport.to + s.view.originNs;
    const inSight: number[] = [];
    for (let k = 0, n = links?.length ?? chart.links.n; k < n; k++) {
      const i = links === null ? k : links[k];
      const a = from[i];
      const b = to[i];
      if (links === null && s.view.hasTransfers && !isTransfer(chart.labels[chart.label[a]].kind)) {
        continue; // where transfers are known, they are the arrows
      }
      if (
        chart.end[a] < t0 ||
        chart.start[b] > t1 ||
        (s.view.step !== null && chart.step[a] !== s.view.step)
      ) {
        continue;
      }
      const rowA = this.rowOfRank[chart.rank[a]];
      const rowB = this.rowOfRank[chart.rank[b]];
      if (
        rowA >= 0 &&
        rowB >= 0 &&
        Math.max(rowA, rowB) >= s.firstRow &&
        Math.min(rowA, rowB) < s.stopRow
      ) {
        inSight.push(i);
        if (inSight.length > MAX_ARROWS) {
          this.tooMany = true; // a grey cloud: nothing could be followed
          return;
        }
      }
    }
    ctx.strokeStyle = ctx.fillStyle = areLit ? s.theme.accent : s.theme.quiet;
    ctx.globalAlpha = areLit ? 1 : 0.7;
    ctx.lineWidth = areLit ? 1.25 : 1;
    for (const i of inSight) {
      this.paintArrow(s, ctx, from[i], to[i]);
    }
    ctx.globalAlpha = 1;
  }

  /** The critical path: along the foot of its ops, and from each to the next. */
  private paintPath(s: Sight, ctx: CanvasRenderingContext2D): void {
    tracePieces(ctx, this.pieces(s));
    for (const [colour, width] of [
      [s.theme.page, 4],
      [s.theme.ink, 2],
    ] as const) {
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.stroke();
    }
  }

  private pieces(s: Sight): PathPiece[] {
    const { chart, view, viewport, scene } = s;
    return piecesOf(chart, (op) => {
      const row = this.rowOfRank[chart.rank[op]];
      return row < 0 || (view.step !== null && chart.step[op] !== view.step)
        ? null
        : {
            from: viewport.x(chart.start[op] - view.originNs),
            to: viewport.x(chart.end[op] - view.originNs),
            y: yOf(s, row) + scene.blockH - 3,
          };
    });
  }

  /** The piece of the critical path that is at a place of the canvas; `isOver`: there is a block, too. */
  pathAt(s: Sight, x: number, y: number, isOver: boolean): PathPiece | null {
    return (isOver ? pieceOver : pieceNear)(this.pieces(s), x, y);
  }

  private paintArrow(s: Sight, ctx: CanvasRenderingContext2D, a: number, b: number): void {
    const { chart } = s;
    const { blockH, transferY, transferH } = s.scene;
    const end = (op: number, isStart: boolean): [number, number] => {
      const transfer = isTransfer(chart.labels[chart.label[op]].kind);
      const y =
        yOf(s, this.rowOfRank[chart.rank[op]]) +
        (transfer ? transferY + transferH / 2 : blockH / 2);
      // A receive is posted long before anything arrives: the arrow ends with it.
      const ns = (isStart === transfer ? chart.end[op] : chart.start[op]) - s.view.originNs;
      return [s.viewport.x(ns), y];
    };
    const [x0, y0] = end(a, false);
    const [x1, y1] = end(b, true);
    // A gentle S that leaves and arrives sideways.
    const reach = Math.max(10, Math.min(60, Math.abs(x1 - x0) / 2));
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1 - 4, y1);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - 6, y1 - 3);
    ctx.lineTo(x1 - 6, y1 + 3);
    ctx.fill();
  }
}
