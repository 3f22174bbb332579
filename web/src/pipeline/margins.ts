/** What stands beside the plot: the names of the rows on the left, figures of each on the right. */
import { el } from "../base/dom";
import type { Row, View } from "./rows";
import { HEADING_H, type Scene } from "./scene";
import { fill, type Texts } from "./texts";

const PART_NAME_MIN = 11;
const LIST_MIN_PITCH = 12;

/** Figures beside the rows. */
export interface Column {
  head: string;
  width: number;
  cell: (row: Row) => string;
  /** What it lacks of the decimals of others. */
  rest?: (text: string) => string;
  title?: (row: Row) => string;
}

export class Margins {
  readonly names = el("div", { class: "names" });
  readonly shares = el("div", { class: "shares" });

  lay(
    view: View,
    scene: Scene,
    columns: Column[],
    texts: Texts,
    pipelineText = (pipeline: number): string => fill(texts.pipeline, pipeline),
  ): void {
    this.layNames(view, scene, texts, pipelineText);
    this.layFigures(view, scene, columns, texts);
    for (const node of [this.names, this.shares]) {
      node.style.height = `${scene.height}px`;
    }
  }

  private layNames(
    view: View,
    scene: Scene,
    texts: Texts,
    pipelineText: (pipeline: number) => string,
  ): void {
    const headings = scene.headings.map((h) => {
      const head = el("div", { class: "heading" }, pipelineText(h.pipeline));
      return placed(head, h.top, HEADING_H);
    });
    const names = view.rows.map((row, i) =>
      placed(
        el("div", {}, el("b", {}, stageText(row, texts)), el("span", {}, rankText(row, texts))),
        scene.tops[i],
        scene.blockH,
      ),
    );
    const parts = view.rows.flatMap((row, i) => partNames(row, i, scene, texts));
    this.names.replaceChildren(...headings, ...names, ...parts);
  }

  private layFigures(view: View, scene: Scene, columns: Column[], texts: Texts): void {
    let right = 0;
    const cells = [...columns].reverse().flatMap((column, c) => {
      const isFirst = c === columns.length - 1;
      const put = (cell: HTMLElement): HTMLElement => {
        cell.style.right = `${right}px`;
        cell.style.width = `${column.width}px`;
        return cell;
      };
      const shown = isFirst || scene.pitch >= LIST_MIN_PITCH ? view.rows : [];
      const found = [
        put(el("div", { class: "head" }, column.head)),
        ...shown.map((row, i) => put(figure(row, column, isFirst, scene, i, texts))),
      ];
      right += column.width;
      return found;
    });
    this.shares.replaceChildren(...cells);
    this.shares.style.width = `${right}px`;
  }
}

/** A row that is no stage, or of which nobody knows which, is called by its rank alone. */
export const stageText = (row: Row, texts: Texts): string =>
  row.stage < 0 ? "" : `${texts.stage} ${row.stage}`;

export const rankText = (row: Row, texts: Texts): string =>
  row.rank < 0 && row.rankRow < 0 ? texts.notMeasured : `${texts.rank} ${row.rank}`;

function placed(line: HTMLElement, top: number, height: number): HTMLElement {
  line.style.top = `${top}px`;
  line.style.height = line.style.lineHeight = `${height}px`;
  return line;
}

/** A row without ops says so in its first column. */
function figure(
  row: Row,
  column: Column,
  isFirst: boolean,
  scene: Scene,
  i: number,
  texts: Texts,
): HTMLElement {
  const isMeasured = row.ops.n > 0;
  const none = isFirst && row.rankRow >= 0 ? texts.noOps : "";
  const line = el("div", {}, isMeasured ? column.cell(row) : none);
  const rest = isMeasured ? (column.rest?.(line.textContent ?? "") ?? "") : "";
  if (rest !== "") {
    line.dataset.rest = rest;
  }
  line.title = isMeasured ? (column.title?.(row) ?? "") : "";
  return placed(line, scene.tops[i], scene.blockH);
}

/** Beside the rows of parts, where they are high enough to read. */
function partNames(row: Row, i: number, scene: Scene, texts: Texts): HTMLElement[] {
  const { tops, partsY, partH, partPitch } = scene;
  const named = [texts.partForward, texts.partBackward, texts.partCommunication];
  return partH < PART_NAME_MIN
    ? []
    : row.parts.flatMap((lane, k) =>
        lane.n === 0
          ? []
          : [
              placed(
                el("div", {}, el("span", {}, named[k])),
                tops[i] + partsY + k * partPitch,
                partH,
              ),
            ],
      );
}
