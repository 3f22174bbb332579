/** Draws the rows: pixels for slices, coverage and counters, then texts. One frame is one call; nothing is allocated for a
 * slice. Device pixels unless said otherwise. */
import type { Rank } from "../api/types";
import { FONT } from "../base/dom";
import { mix } from "../base/theme";
import type { Ns } from "../base/ns";
import { PREVIEW_PX, ROW_PX, type Item } from "../model/lanes";
import { outlineOf, outlineShift } from "../model/outlines";
import { laneShift } from "../model/rank_lanes";
import { shiftOf } from "../model/session";
import { wantLanes } from "../model/tree";
import { sliceWord } from "../words";
import { bucketNs, type CounterTile, type LaneTile } from "../model/tiles";
import type { Viewport } from "../base/viewport";
import { CounterPainter, stackedOf, StackPainter } from "./counters";
import { PieceFinder, RANK_PART, type TimelineData } from "./data";
import { labelFor, type TextWidths } from "./labels";
import { Matches } from "./matches";
import { addCoverage, LabelList, RowPainter, type TilePlace } from "./paint";
import type { Palette } from "./palette";
import { theme } from "../model/look";
import { PipelinePainter } from "./pipeline_lane";
import { LANE_PAD, previewSpan, type Region, type Scene } from "./scene";

export const LABEL_FONT_PX = 11;
/** Steps closer than this carry no lines. */
const STEP_FROM_PX = 6;

export interface BaseLook {
  palette: Palette;
  /** Everything steps back, since links of a slice are lit. */
  isDim: boolean;
  showInstants: boolean;
}

export class BasePainter {
  private painter: RowPainter;
  private readonly counterPainter: CounterPainter;
  private readonly stackPainter = new StackPainter();
  private readonly pipelinePainter = new PipelinePainter();
  private readonly finder: PieceFinder<LaneTile>;
  private readonly counterFinder: PieceFinder<CounterTile>;
  private readonly coverageFinder: PieceFinder<Uint8Array>;
  readonly labels = new LabelList();
  /** Behind the last label of each region: a row that the region cuts has its label cut with it. */
  private readonly labelsEnd: [number, number] = [0, 0];
  /** Of labels.rank. */
  readonly rankKeys: string[] = [];
  private image: ImageData;
  private pixels: Uint32Array;
  private ground = 0;
  /** Slices and densities of the last frame. */
  nDrawn = 0;
  /** Lanes of ranks that are being read. */
  nOutlined = 0;
  /** Rows that lanes with automatic height need now. */
  readonly rowsSeen = new Map<string, number>();
  /** Parts on screen that are not there yet. */
  nMissing = 0;
  /** What is searched for. */
  readonly matches: Matches;

  constructor(
    private readonly scene: Scene,
    private readonly data: TimelineData,
    private readonly widths: TextWidths,
  ) {
    this.painter = new RowPainter(1, 1);
    this.counterPainter = new CounterPainter();
    this.finder = new PieceFinder(data.slices);
    this.counterFinder = new PieceFinder(data.counters);
    this.coverageFinder = new PieceFinder(data.coverage);
    this.matches = new Matches(data.names);
    this.image = new ImageData(1, 1);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  private resize(width: number, height: number): void {
    if (this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.painter = new RowPainter(width, this.scene.scale);
      this.counterPainter.resize(width);
    }
  }

  draw(ctx: CanvasRenderingContext2D, view: Viewport, look: BaseLook): void {
    const { scene } = this;
    const width = Math.max(1, Math.round(scene.width * scene.scale));
    const height = Math.max(1, Math.round(scene.height * scene.scale));
    this.resize(width, height);
    const { palette } = look;
    this.ground = palette.pagePx;
    this.pixels.fill(this.ground);
    this.labels.n = 0;
    this.rankKeys.length = 0;
    this.nMissing = 0;
    this.painter.nDrawn = 0;
    this.nOutlined = 0;
    this.painter.hideInstants = !look.showInstants;
    this.painter.faint = palette.dimPx;
    this.painter.matches = this.matches.isOn ? this.matches : null;
    // What is searched for stands out, also where links of a slice are lit.
    this.painter.isDim = look.isDim && !this.matches.isOn;
    this.rowsSeen.clear();
    scene.regions.forEach((region, i) => {
      if (region.bottom > region.top) {
        this.drawRegion(region, view, look);
      }
      this.labelsEnd[i] = this.labels.n;
    });
    this.nDrawn = this.painter.nDrawn;
    ctx.putImageData(this.image, 0, 0);
    this.drawTexts(ctx, view, look);
  }

  private drawRegion(region: Region, view: Viewport, look: BaseLook): void {
    const { items } = region;
    const end = region.scroll + region.bottom - region.top;
    for (let i = this.scene.firstItem(region); i < items.length && items[i].y < end; i++) {
      this.drawItem(items[i], region, region.top + items[i].y - region.scroll, view, look);
    }
    const stuck = this.scene.stuck(region);
    if (stuck !== null) {
      this.drawItem(stuck.item, region, region.top + stuck.top, view, look);
    }
  }

  private drawItem(item: Item, region: Region, top: number, view: Viewport, look: BaseLook): void {
    const { rank, lanes } = item;
    if (item.kind === "rank" || item.kind === "host" || item.kind === "unread") {
      this.band(region, top, top + item.height, mix(look.palette.linePx, this.ground, 0.45));
    }
    this.band(
      region,
      top + item.height - 1,
      top + item.height,
      mix(look.palette.linePx, this.ground, 0.6),
    );
    if (item.kind === "outline" && rank !== null) {
      this.drawOutline(item, rank, region, top, view, look);
    }
    if (rank?.state !== "ready") {
      return;
    }
    if (item.kind === "pipeline") {
      this.drawPipeline(rank, region, top, view);
      return;
    }
    if (lanes === null) {
      void wantLanes(rank.key);
      this.nMissing++;
      return;
    }
    const shift = item.node < 0 ? shiftOf(rank) : laneShift(rank, lanes, item.node);
    if (item.kind === "lane") {
      this.drawLane(item, rank, shift, region, top, view, look);
    } else if (item.kind === "counter") {
      this.drawCounter(item, rank, shift, region, top, view, look);
    } else if ((item.kind === "group" || item.kind === "rank") && !item.isOpen) {
      const series =
        item.node < 0 ? [] : stackedOf(lanes.shownChildren(item.node).map((n) => lanes.nodes[n]));
      if (series.length > 0) {
        this.drawStack(series, item, rank, shift, region, top, view, look);
      } else {
        this.drawCoverage(item, rank, shift, region, top, view, look);
      }
    }
  }

  /** Full lines, where the region is. */
  private band(region: Region, top: number, bottom: number, colour: number): void {
    const [y0, y1] = this.clip(region, top, bottom);
    if (y1 > y0) {
      this.pixels.fill(colour, y0 * this.image.width, y1 * this.image.width);
    }
  }

  /** What was drawn last, without texts. */
  get picture(): { pixels: Uint32Array; width: number; height: number } {
    return { pixels: this.pixels, width: this.image.width, height: this.image.height };
  }

  private readonly clipped: [number, number] = [0, 0];

  /** CSS pixels of the plot to lines of the image that the region shows. */
  private clip(region: Region, top: number, bottom: number): [number, number] {
    const { scale } = this.scene;
    this.clipped[0] = Math.max(Math.round(top * scale), Math.round(region.top * scale));
    this.clipped[1] = Math.min(
      Math.round(bottom * scale),
      Math.round(region.bottom * scale),
      this.image.height,
    );
    return this.clipped;
  }

  private copy(y0: number, y1: number): void {
    this.painter.copy(this.pixels, y0, y1);
  }

  private rankIndex(key: string): number {
    const last = this.rankKeys.length - 1;
    return last >= 0 && this.rankKeys[last] === key ? last : this.rankKeys.push(key) - 1;
  }

  private drawLane(
    item: Item,
    rank: Rank,
    shift: Ns,
    region: Region,
    top: number,
    view: Viewport,
    look: BaseLook,
  ): void {
    const node = item.lanes!.nodes[item.node];
    const n = this.finder.find(rank.key, node.lane, shift, view, this.scene.scale, true);
    this.nMissing += this.finder.nMissing;
    let rows = 0;
    for (let p = 0; p < n; p++) {
      rows = Math.max(rows, this.finder.get(p).tile.rowAt.length - 1);
    }
    if (item.isOpen && this.finder.nMissing === 0) {
      const seen = this.rowsInWindow(n, rows);
      this.rowsSeen.set(item.id, Math.max(seen, this.rowsSeen.get(item.id) ?? 0));
    }
    const colours = this.painter.isDim ? look.palette.dimPx : look.palette.px;
    this.matches.begin(rank.key);
    if (item.isOpen) {
      this.drawRows(rank, n, Math.min(rows, item.rows), region, top, colours);
    } else {
      this.drawPreview(n, rows, node.rows, region, top, colours);
    }
  }

  /** Rows that have something on screen. */
  private rowsInWindow(n: number, rows: number): number {
    for (let row = rows - 1; row > 0; row--) {
      for (let p = 0; p < n; p++) {
        const { tile, at, perBucket, clipFrom, clipTo } = this.finder.get(p);
        for (let i = tile.rowAt[row]; row < tile.rowAt.length - 1 && i < tile.rowAt[row + 1]; i++) {
          if (at + tile.end[i] * perBucket > clipFrom && at + tile.start[i] * perBucket < clipTo) {
            return row + 1;
          }
        }
      }
    }
    return 1;
  }

  private drawRows(
    rank: Rank,
    n: number,
    rows: number,
    region: Region,
    top: number,
    colours: Uint32Array,
  ): void {
    const { painter, scene } = this;
    const first = Math.max(0, Math.floor((region.top - top - LANE_PAD) / ROW_PX));
    const end = Math.min(rows, Math.ceil((region.bottom - top - LANE_PAD) / ROW_PX));
    painter.labels = this.labels;
    painter.labelRank = this.rankIndex(rank.key);
    for (let row = first; row < end; row++) {
      const y = top + LANE_PAD + row * ROW_PX;
      painter.labelY = (y + (ROW_PX - 2) / 2) * scene.scale;
      painter.labels = y >= region.top - 4 ? this.labels : null;
      if (this.paintRow(n, row, colours)) {
        const [y0, y1] = this.clip(region, y, y + ROW_PX - 2);
        if (y1 > y0) {
          this.copy(y0, y1);
        }
      }
    }
    painter.labels = null;
  }

  private drawPreview(
    n: number,
    rows: number,
    allRows: number,
    region: Region,
    top: number,
    colours: Uint32Array,
  ): void {
    this.painter.labels = null;
    for (let row = 0; row < rows;) {
      const [from, to] = previewSpan(row, allRows);
      let any = false;
      this.painter.begin(this.ground);
      // All rows that share these pixels.
      do {
        any = this.addRow(n, row, colours) || any;
        row++;
      } while (row < rows && previewSpan(row, allRows)[0] === from);
      if (any) {
        this.painter.finish();
        this.painter.nChevrons = 0;
        const gap = to - from > 4 ? 1 : 0;
        const [y0, y1] = this.clip(region, top + from, top + to - gap);
        if (y1 > y0) {
          this.copy(y0, y1);
        }
      }
    }
  }

  private paintRow(n: number, row: number, colours: Uint32Array): boolean {
    this.painter.begin(this.ground);
    const any = this.addRow(n, row, colours);
    if (any) {
      this.painter.finish();
    }
    return any;
  }

  private addRow(n: number, row: number, colours: Uint32Array): boolean {
    let any = false;
    for (let p = 0; p < n; p++) {
      const piece = this.finder.get(p);
      const { rowAt } = piece.tile;
      if (row < rowAt.length - 1 && rowAt[row] < rowAt[row + 1]) {
        this.painter.bucketNs = bucketNs(piece.level);
        this.painter.add(piece.tile, rowAt[row], rowAt[row + 1], piece, colours, piece.isFirst);
        any = true;
      }
    }
    return any;
  }

  private drawPipeline(rank: Rank, region: Region, top: number, view: Viewport): void {
    const { scale } = this.scene;
    const { width } = this.image;
    const made = this.pipelinePainter.paint(rank, view, width, scale, theme.get());
    if (made === null) {
      return;
    }
    const first = Math.round((top + LANE_PAD) * scale);
    const [y0, y1] = this.clip(region, top + LANE_PAD, top + LANE_PAD + made.height / scale);
    for (let y = y0; y < Math.min(y1, first + made.height); y++) {
      const from = (y - first) * width;
      this.pixels.set(made.pixels.subarray(from, from + width), y * width);
    }
  }

  private drawCoverage(
    item: Item,
    rank: Rank,
    shift: Ns,
    region: Region,
    top: number,
    view: Viewport,
    look: BaseLook,
  ): void {
    const part = item.kind === "rank" ? RANK_PART : item.node;
    const n = this.coverageFinder.find(rank.key, part, shift, view, this.scene.scale, true);
    this.nMissing += this.coverageFinder.nMissing;
    const pieces = Array.from({ length: n }, (_, p) => this.coverageFinder.get(p));
    this.drawBusy(pieces, item, region, top, look);
  }

  /** What is there so far of a lane whose rank is being read. */
  private drawOutline(
    item: Item,
    rank: Rank,
    region: Region,
    top: number,
    view: Viewport,
    look: BaseLook,
  ): void {
    const outline = outlineOf(rank.key);
    const lane = outline?.lanes[item.node];
    if (outline === undefined || lane === undefined) {
      return;
    }
    const { scale } = this.scene;
    const place = {
      tile: lane.busy,
      at: view.x(outlineShift(rank, outline)) * scale,
      perBucket: (outline.bucketNs / view.nsPerPx) * scale,
      clipFrom: 0,
      clipTo: this.image.width,
    };
    this.drawBusy([place], item, region, top, look);
    this.nOutlined++;
  }

  /** How busy something is, as a bar. */
  private drawBusy(
    pieces: readonly (TilePlace & { tile: Uint8Array })[],
    item: Item,
    region: Region,
    top: number,
    look: BaseLook,
  ): void {
    const [y0, y1] = this.clip(region, top + 4, top + Math.min(item.height, PREVIEW_PX + 4) - 5);
    if (pieces.length === 0 || y1 <= y0) {
      return;
    }
    const ground = this.pixels[y0 * this.image.width];
    this.painter.begin(ground);
    const colour = look.isDim
      ? look.palette.dimPx[look.palette.dimPx.length - 1]
      : look.palette.px[look.palette.px.length - 1];
    for (const piece of pieces) {
      addCoverage(this.painter.line, this.image.width, piece.tile, piece, colour, ground);
    }
    this.copy(y0, y1);
  }

  private drawCounter(
    item: Item,
    rank: Rank,
    shift: Ns,
    region: Region,
    top: number,
    view: Viewport,
    look: BaseLook,
  ): void {
    const { counterPainter } = this;
    this.findCounter(item.lanes!.nodes[item.node].lane, rank, shift, view, true);
    const ink = look.isDim ? look.palette.dimPx[0] : look.palette.px[0];
    const [y0, y1] = this.clip(region, top + 3, top + item.height - 3);
    const { scale } = this.scene;
    counterPainter.paint(
      this.pixels,
      Math.round((top + 3) * scale),
      Math.round((top + item.height - 3) * scale),
      y0,
      y1,
      ink,
      mix(ink, this.ground, 0.35),
    );
    const known = this.counterScale.get(item.id);
    if (known?.[0] !== counterPainter.least || known[1] !== counterPainter.most) {
      this.counterScale.set(item.id, [counterPainter.least, counterPainter.most]);
      this.didScaleChange = true;
    }
  }

  /** Values of a counter into its painter. */
  private findCounter(lane: number, rank: Rank, shift: Ns, view: Viewport, isDrawn: boolean): void {
    const { counterPainter, counterFinder } = this;
    const n = counterFinder.find(rank.key, lane, shift, view, this.scene.scale, isDrawn);
    this.nMissing += isDrawn ? counterFinder.nMissing : 0;
    counterPainter.begin();
    for (let p = 0; p < n; p++) {
      const piece = counterFinder.get(p);
      counterPainter.add(piece.tile, piece);
    }
  }

  /** A closed group of counters: one on top of the other. */
  private drawStack(
    series: readonly number[],
    item: Item,
    rank: Rank,
    shift: Ns,
    region: Region,
    top: number,
    view: Viewport,
    look: BaseLook,
  ): void {
    const { scale } = this.scene;
    this.stackPainter.begin();
    for (const lane of series) {
      this.findCounter(lane, rank, shift, view, true);
      this.stackPainter.add(this.counterPainter, this.image.width);
    }
    const [y0, y1] = this.clip(region, top + 3, top + item.height - 3);
    const tints = look.isDim ? look.palette.dimPx : look.palette.px;
    this.stackPainter.paint(
      this.pixels,
      Math.round((top + 3) * scale),
      Math.round((top + item.height - 3) * scale),
      y0,
      y1,
      (i) => tints[i],
    );
  }

  /** Least and most value drawn of a counter in the last frame, by item. */
  readonly counterScale = new Map<string, [number, number]>();
  /** Since it was set to false: the label column says what counters reach. */
  didScaleChange = false;

  /** The value of a counter at x (device pixels), or NaN. */
  counterAt(item: Item, rank: Rank, shift: Ns, view: Viewport, x: number): number {
    this.findCounter(item.lanes!.nodes[item.node].lane, rank, shift, view, false);
    return this.counterPainter.at(x);
  }

  // --- texts ---------------------------------------------------------------------------------------------------------

  private drawTexts(ctx: CanvasRenderingContext2D, view: Viewport, look: BaseLook): void {
    const { scene } = this;
    ctx.font = `${LABEL_FONT_PX * scene.scale}px ${FONT}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    scene.regions.forEach((region, i) => {
      const clear = scene.clearTop(region);
      this.clipTo(ctx, clear, region.bottom, () => {
        this.drawSteps(ctx, region, view, look);
        this.drawLabels(ctx, i === 0 ? 0 : this.labelsEnd[i - 1], this.labelsEnd[i], look);
      });
      const stuck = scene.stuck(region);
      const rank = stuck?.item.rank;
      if (stuck?.item.isOpen === true && rank?.steps !== undefined && rank.state === "ready") {
        this.clipTo(ctx, region.top, clear, () =>
          this.stepBands(ctx, rank, region.top + stuck.top, view, look),
        );
      }
    });
  }

  /** Draws within lines of the plot. */
  private clipTo(
    ctx: CanvasRenderingContext2D,
    top: number,
    bottom: number,
    draw: () => void,
  ): void {
    const { scale } = this.scene;
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, top * scale, ctx.canvas.width, (bottom - top) * scale);
    ctx.clip();
    draw();
    ctx.restore();
  }

  private drawLabels(
    ctx: CanvasRenderingContext2D,
    from: number,
    end: number,
    look: BaseLook,
  ): void {
    const { labels, scene } = this;
    const { text: plain, dimText } = look.palette;
    let style = "";
    for (let i = from; i < end; i++) {
      const text = this.label(i);
      if (text !== "") {
        const wanted = (labels.isDim[i] === 1 ? dimText : plain)[labels.look[i]];
        if (wanted !== style) {
          ctx.fillStyle = style = wanted;
        }
        const room = labels.x1[i] - labels.x0[i];
        const width = this.widths.of(text) * scene.scale;
        ctx.fillText(
          text,
          labels.x0[i] + Math.max(3 * scene.scale, (room - width) / 2),
          labels.y[i],
        );
      }
    }
  }

  /** The text of a label of this frame, as far as it is known. */
  label(i: number): string {
    const { labels } = this;
    const name = this.data.names.get(this.rankKeys[labels.rank[i]], labels.name[i]);
    return name === undefined
      ? ""
      : labelFor(
          sliceWord(name),
          labels.durNs[i],
          labels.count[i],
          (labels.x1[i] - labels.x0[i]) / this.scene.scale,
          this.widths,
        );
  }

  /** Steps of a rank: bands with their number in its header, and lines at their borders through its lanes. */
  private drawSteps(
    ctx: CanvasRenderingContext2D,
    region: Region,
    view: Viewport,
    look: BaseLook,
  ): void {
    const { items } = region;
    const end = region.scroll + region.bottom - region.top;
    let i = this.scene.firstItem(region);
    while (i < items.length && items[i].y < end) {
      const { rank } = items[i];
      const from = items[i].y;
      const header = items[i].kind === "rank" ? items[i] : null;
      while (
        i < items.length &&
        items[i].rank === rank &&
        items[i].y < end &&
        (items[i] === header || items[i].kind !== "rank")
      ) {
        i++;
      }
      if (rank?.steps === undefined || rank.state !== "ready") {
        i += items[i]?.y === from ? 1 : 0;
        continue;
      }
      const last = items[Math.min(i, items.length) - 1];
      const at = region.top - region.scroll;
      this.stepLines(ctx, rank, from + at, last.y + last.height + at, view, look);
      if (header?.isOpen === true) {
        this.stepBands(ctx, rank, header.y + at, view, look);
      }
    }
  }

  private stepLines(
    ctx: CanvasRenderingContext2D,
    rank: Rank,
    top: number,
    bottom: number,
    view: Viewport,
    look: BaseLook,
  ): void {
    const { scale } = this.scene;
    const shift = shiftOf(rank);
    ctx.strokeStyle = look.palette.quiet;
    ctx.lineWidth = 1;
    ctx.globalAlpha = 0.35;
    ctx.beginPath();
    for (const [, start, stop] of rank.steps!) {
      const x0 = view.x(start + shift);
      const x1 = view.x(stop + shift);
      if (x1 < 0 || x0 > view.width || x1 - x0 < STEP_FROM_PX) {
        continue;
      }
      for (const x of [x0, x1]) {
        const px = Math.round(x * scale) + 0.5;
        ctx.moveTo(px, top * scale);
        ctx.lineTo(px, bottom * scale);
      }
    }
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  /** `header`: where the row of the rank is, in pixels of the plot. */
  private stepBands(
    ctx: CanvasRenderingContext2D,
    rank: Rank,
    header: number,
    view: Viewport,
    look: BaseLook,
  ): void {
    const { scale } = this.scene;
    const shift = shiftOf(rank);
    ctx.fillStyle = look.palette.quiet;
    for (const [id, start, stop] of rank.steps!) {
      const x0 = Math.max(0, view.x(start + shift));
      const x1 = Math.min(view.width, view.x(stop + shift));
      const text = String(id);
      if (x1 - x0 >= Math.max(STEP_FROM_PX, this.widths.of(text) + 8)) {
        ctx.globalAlpha = 0.12;
        ctx.fillRect((x0 + 1) * scale, (header + 5) * scale, (x1 - x0 - 2) * scale, 17 * scale);
        ctx.globalAlpha = 1;
        const long = this.stepText(id);
        const shown = this.widths.of(long) + 8 <= x1 - x0 ? long : text;
        ctx.fillText(
          shown,
          (x0 + (x1 - x0 - this.widths.of(shown)) / 2) * scale,
          (header + 14) * scale,
        );
      }
    }
  }

  stepText: (id: number) => string = String;
}
