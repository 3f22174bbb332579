/** What stands around the plot: the legend, the bar and figures of each stage, and the tables that came along. */
import { el } from "../base/dom";
import { kindText, type Words } from "./details";
import { fill, type Texts } from "./texts";
import { isTransfer, N_KINDS, type Chart, type Shapes, type Table } from "./model";
import {
  exactText,
  restAfter,
  shareText,
  shownAs,
  timesAs,
  valueText,
  type Shown,
} from "../base/format";
import { duration } from "../base/time";
import type { Row, View } from "./rows";
import type { Theme } from "../base/theme";

export function colourOf(theme: Theme, look: number): string {
  return (look < N_KINDS ? theme.kinds[look] : theme.phases[look - N_KINDS]) ?? theme.quiet;
}

export function lookText(words: Words, look: number): string {
  return look < N_KINDS ? kindText(words, look) : (words.phases[look - N_KINDS] ?? "");
}

/** The pattern of a cause of waiting. */
const waitClass = ({ hatches }: Shapes, cause: number): string =>
  `pp-wait pp-lines${hatches[cause]}`;

/** What the numbers on blocks mean, of both charts where they do not agree: a simulation may have other microbatches and chunks. */
export function numbersOf(chart: Chart, against: Chart | null, texts: Texts): string[] {
  if (against === null || against.numbers === chart.numbers) {
    return chart.numbers === "" ? [] : [chart.numbers];
  }
  return [
    [texts.measured, chart.numbers],
    [texts.theory, against.numbers],
  ].flatMap(([name, note]) => (note === "" ? [] : [`${name}: ${note}`]));
}

export function legend(
  chart: Chart,
  against: Chart | null,
  view: View,
  words: Words,
  texts: Texts,
  theme: Theme,
  shapes: Shapes,
): HTMLElement {
  const list = el("ul", { class: "pp-legend", "aria-label": texts.legend });
  const entry = (swatch: HTMLElement, text: string): void =>
    void list.append(el("li", {}, swatch, text));
  const looks = [...view.looks].sort(
    (a, b) => Number(isTransfer(a)) - Number(isTransfer(b)) || a - b,
  );
  for (const look of looks) {
    const swatch = el("i", { class: isTransfer(look) ? "pp-swatch thin" : "pp-swatch" });
    swatch.style.background = colourOf(theme, look);
    entry(swatch, lookText(words, look));
  }
  if (view.hasOthers) {
    entry(el("i", { class: "pp-swatch pp-other" }), texts.legendOther);
  }
  words.causes.forEach((cause, i) => {
    if (view.rows.some((row) => (row.causeNs[i] ?? 0) > 0)) {
      entry(
        el("i", { class: `pp-swatch ${waitClass(shapes, i)}` }),
        fill(texts.legendWaiting, cause),
      );
    }
  });
  if (view.theoryShare !== null) {
    entry(el("i", { class: "pp-swatch pair" }), texts.legendPair);
  }
  for (const note of numbersOf(chart, against, texts)) {
    list.append(el("li", { class: "quiet" }, note));
  }
  return list;
}

const numberCell = (value: number, shown: Shown, title = ""): HTMLElement => {
  const text = valueText(value, shown);
  const rest = restAfter(text, shown);
  return el(
    "td",
    {
      class: "num",
      ...(rest === "" ? {} : { "data-rest": rest }),
      ...(title === "" ? {} : { title }),
    },
    text,
  );
};

/** The times of a stage that stand in columns: busy, other work, waiting by its causes. */
const timesOf = (row: Row, causes: number): number[] => [
  row.busyNs,
  row.otherNs,
  ...Array.from({ length: causes }, (_, i) => row.causeNs[i] ?? 0),
];

/** One bar a stage and the numbers beside it, as shares of the window. */
export function stageTable(
  view: View,
  words: Words,
  texts: Texts,
  theme: Theme,
  shapes: Shapes,
): HTMLElement {
  // One unit for all, as a stage's times are read against one another, digits by column.
  const times = view.rows.map((row) => timesOf(row, words.causes.length));
  const { unit } = timesAs(times.flat());
  const shown = Array.from({ length: 2 + words.causes.length }, (_, c) =>
    timesAs(
      times.flat(),
      times.map((row) => row[c]),
    ),
  );
  const used = words.causes.map((_, i) => view.rows.some((row) => (row.causeNs[i] ?? 0) > 0));
  const head = el(
    "tr",
    {},
    el("th", { class: "num" }, texts.stage),
    el("th", { class: "num" }, texts.rank),
    el("th", { class: "wide" }, texts.shareOfStep),
    el("th", { class: "num" }, `${texts.busyTime} ${unit}`),
  );
  if (view.hasOthers) {
    head.append(el("th", { class: "num" }, `${texts.otherWork} ${unit}`));
  }
  words.causes.forEach((cause, i) => {
    if (used[i]) {
      head.append(el("th", { class: "num" }, `${cause} ${unit}`));
    }
  });
  head.append(
    el("th", { class: "num" }, texts.busy),
    el("th", { class: "num" }, texts.bubbleShare),
  );
  const body = el("tbody");
  for (const [r, row] of view.rows.entries()) {
    const bar = el("div", { class: "pp-bar" });
    const part = (name: string, ns: number, title: string, colour = ""): void => {
      if (ns > 0) {
        const piece = el("span", {
          class: name,
          title: `${title} ${duration(ns)}`,
        });
        piece.style.width = `${(ns / view.windowNs) * 100}%`;
        piece.style.background = colour;
        bar.append(piece);
      }
    };
    const counted = [...row.lookNs.values()].reduce((a, b) => a + b, 0);
    for (const [look, ns] of row.lookNs) {
      part("", (ns / counted) * row.busyNs, lookText(words, look), colourOf(theme, look));
    }
    part("pp-other", row.otherNs, texts.otherWork);
    words.causes.forEach((cause, i) => part(waitClass(shapes, i), row.causeNs[i] ?? 0, cause));
    const cells = times[r].map((ns, c) => numberCell(ns, shown[c], duration(ns)));
    const line = el(
      "tr",
      {},
      el("td", { class: "num" }, row.stage < 0 ? "?" : String(row.stage)),
      el("td", { class: "num quiet" }, String(row.rank)),
      el("td", { class: "wide" }, bar),
      cells[0],
    );
    if (view.hasOthers) {
      line.append(cells[1]);
    }
    words.causes.forEach((_, i) => {
      if (used[i]) {
        line.append(cells[2 + i]);
      }
    });
    const share = row.busyNs / view.windowNs;
    line.append(
      el("td", { class: "num" }, shareText(share)),
      el(
        "td",
        { class: "num" },
        row.isTold ? shareText(row.causeNs.reduce((a, b) => a + b, 0) / view.windowNs) : "-",
      ),
    );
    body.append(line);
  }
  return el("table", { class: "stages" }, el("thead", {}, head), body);
}

/** The table without columns in which no row says anything. */
function withoutEmptyColumns(table: Table): Table {
  const kept = table.columns
    .map((_, c) => c)
    .filter(
      (c) => table.rows.length === 0 || table.rows.some((row) => row[c] !== null && row[c] !== ""),
    );
  return {
    ...table,
    columns: kept.map((c) => table.columns[c]),
    rows: table.rows.map((row) => kept.map((c) => row[c])),
  };
}

/** Other schedules with the largest gain first, as the viewer shows them; of other tables the rows as they are. */
export function byGain(table: Table): Table {
  const gain = table.columns.findIndex(([name]) => name === "gain");
  const of = (row: Table["rows"][0]): number => Number(row[gain] ?? -Infinity);
  return table.name !== "PipelineReplay" || gain < 0
    ? table
    : { ...table, rows: [...table.rows].sort((a, b) => of(b) - of(a)) };
}

/** A table of the program: one unit and one number of decimals to a column, exact values on hover. */
export function plainTable(whole: Table): HTMLElement {
  const table = withoutEmptyColumns(whole);
  const head = el("tr");
  const columns = table.columns.map(([name, type, unit, isExact], c) => {
    const values = table.rows.map((row) => row[c]).filter((v) => typeof v === "number");
    const shown = shownAs(name, type, unit, isExact, values);
    const text = name.replace(/_(ns|us|ms)$/, "").replace(/_/g, " ");
    head.append(el("th", type === "text" ? {} : { class: "num" }, `${text} ${shown.unit}`.trim()));
    return shown;
  });
  const body = el("tbody");
  for (const row of table.rows) {
    const cells = row.map((cell, c) =>
      typeof cell === "number"
        ? numberCell(cell, columns[c], exactText(cell, columns[c], table.columns[c][2]))
        : el("td", columns[c].kind === "text" ? {} : { class: "num" }, cell ?? ""),
    );
    body.append(el("tr", {}, ...cells));
  }
  return el(
    "section",
    { class: "panel" },
    el("h2", {}, table.title !== "" ? table.title : table.name),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), body)),
    table.note === undefined ? null : el("p", { class: "hint" }, table.note),
  );
}
