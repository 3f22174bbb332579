/** What every stage of every pipeline worked, as colours: a stage that is slow is a row, a slow rank a cell. */
import { context, el, FONT } from "../base/dom";
import { RAMP, rampOf, type Theme } from "../base/theme";
import { duration, fixed } from "../base/time";
import { busyIn, slowOf, type Alike, type Slow } from "./alike";
import type { Details } from "./details";
import { ratioNow } from "./layers";
import { fill, type Speech } from "./texts";
import { Tip } from "./tip";

const LEFT = 64;
const TOP = 20;
const CELL_H = 9;
const NAME_H = 14;
const NAME_W = 40;

export class StageMap {
  readonly element = el("section", { class: "stage-map" });
  private readonly words = el("p");
  private readonly canvas = el("canvas");
  private readonly tip = new Tip();
  private busy: Float64Array = new Float64Array();
  private theme!: Theme;
  private cellW = 1;

  constructor(
    private readonly alike: Alike,
    private readonly speech: Speech,
    private readonly onPipeline: (shown: number) => void,
  ) {
    this.element.append(this.words, this.canvas, this.tip.element);
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => this.tip.hide());
    this.canvas.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(step: number | null, theme: Theme): void {
    this.theme = theme;
    this.busy = busyIn(this.alike, step);
    const said = slowWords(slowOf(this.alike, this.busy), this.speech.many);
    this.words.textContent = said.join(" ");
    this.draw();
  }

  // --- drawing ---------------------------------------------------------------------------------------------------

  private draw(): void {
    const { of, stages } = this.alike;
    const width = this.element.clientWidth;
    if (this.theme === undefined || width === 0) {
      return;
    }
    this.cellW = Math.max(1, Math.min(24, Math.floor((width - LEFT) / of.length)));
    const height = TOP + stages.length * CELL_H;
    const ratio = ratioNow();
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const pen = context(this.canvas);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawNames(pen);
    this.drawCells(pen);
  }

  private drawNames(pen: CanvasRenderingContext2D): void {
    const { of, stages } = this.alike;
    pen.font = `11px ${FONT}`;
    pen.fillStyle = this.theme.quiet;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const every = Math.ceil(NAME_H / CELL_H);
    stages.forEach((stage, s) => {
      if (s % every === 0) {
        const name = stage < 0 ? "?" : String(stage);
        const text = s === 0 ? `${this.speech.texts.stage} ${name}` : name;
        pen.fillText(text, LEFT - 6, TOP + (s + 0.5) * CELL_H);
      }
    });
    pen.textAlign = "left";
    const across = Math.ceil(NAME_W / this.cellW);
    for (let p = 0; p < of.length; p += across) {
      const name = p === 0 ? fill(this.speech.texts.pipeline, of[p]) : String(of[p]);
      const isFree = p === 0 || p * this.cellW > 72;
      pen.fillText(isFree ? name : "", LEFT + p * this.cellW, TOP / 2);
    }
  }

  private drawCells(pen: CanvasRenderingContext2D): void {
    const { of, stages } = this.alike;
    const ramp = rampOf(this.theme);
    let least = Infinity;
    let most = -Infinity;
    for (const ns of this.busy) {
      least = ns < least ? ns : least;
      most = ns > most ? ns : most;
    }
    const gap = this.cellW > 3 ? 1 : 0;
    for (let p = 0; p < of.length; p++) {
      for (let s = 0; s < stages.length; s++) {
        const ns = this.busy[p * stages.length + s];
        if (!Number.isNaN(ns)) {
          const at = most > least ? (ns - least) / (most - least) : 0;
          pen.fillStyle = ramp[Math.round(at * (RAMP - 1))];
          pen.fillRect(LEFT + p * this.cellW, TOP + s * CELL_H, this.cellW - gap, CELL_H - 1);
        }
      }
    }
  }

  // --- pointer ---------------------------------------------------------------------------------------------------

  private cellAt(event: MouseEvent): { p: number; s: number } | null {
    const p = Math.floor((event.offsetX - LEFT) / this.cellW);
    const s = Math.floor((event.offsetY - TOP) / CELL_H);
    return p >= 0 && p < this.alike.of.length && s >= 0 && s < this.alike.stages.length
      ? { p, s }
      : null;
  }

  private hover(event: MouseEvent): void {
    const cell = this.cellAt(event);
    if (cell === null) {
      this.tip.hide();
    } else {
      this.tip.show(this.detailsOf(cell.p, cell.s), this.theme, event.clientX, event.clientY);
    }
  }

  private detailsOf(p: number, s: number): Details {
    const { of, by, stages } = this.alike;
    const ns = this.busy[p * stages.length + s];
    const busy = Number.isNaN(ns) ? this.speech.texts.unknown : duration(ns);
    const shown = by[p] < 0 ? this.speech.many.none : by[p] === of[p] ? "" : String(by[p]);
    return {
      title: `${this.speech.texts.stage} ${stages[s]}`,
      kind: fill(this.speech.texts.pipeline, of[p]),
      look: null,
      lines: [
        [this.speech.texts.busyTime, busy, ""],
        ...(shown !== ""
          ? [[this.speech.many.shownAs, shown, ""] as [string, string, string]]
          : []),
      ],
    };
  }

  private click(event: MouseEvent): void {
    const cell = this.cellAt(event);
    const shown = cell === null ? -1 : this.alike.by[cell.p];
    if (shown >= 0) {
      this.onPipeline(shown);
    }
  }
}

const percentMore = (ns: number, than: number): string => fixed(100 * (ns / than - 1), 0);

/** The slow stage, then single slow ones. */
function slowWords(slow: Slow, many: Speech["many"]): string[] {
  const { stage, single, more } = slow;
  const said = [
    stage === null
      ? many.noSlowStage
      : fill(
          many.slowStage,
          stage.stage,
          duration(stage.ns),
          percentMore(stage.ns, stage.than),
          duration(stage.than),
        ),
    ...single.map((one) =>
      fill(many.slowSingle, one.stage, one.pipeline, percentMore(one.ns, one.than)),
    ),
  ];
  return more > 0 ? [...said, fill(many.slowMore, more)] : said;
}
