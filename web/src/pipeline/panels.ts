/** What stands around the plot: the legend, the bar and figures of each stage, and the tables that came along. */
import { el } from "../base/dom";
import { kindText, type Words } from "./details";
import { fill, type Texts } from "./texts";
import { isTransfer, N_KINDS, type Shapes, type Table } from "./model";
import { percent, significant, unitFor } from "../base/time";
import type { View } from "./rows";
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

export function legend(
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
  return list;
}

/** One bar a stage and the numbers beside it, as shares of the window. */
export function stageTable(
  view: View,
  words: Words,
  texts: Texts,
  theme: Theme,
  shapes: Shapes,
): HTMLElement {
  const unit = unitFor(view.windowNs, 10);
  const used = words.causes.map((_, i) => view.rows.some((row) => (row.causeNs[i] ?? 0) > 0));
  const head = el(
    "tr",
    {},
    el("th", { class: "num" }, texts.stage),
    el("th", { class: "num" }, texts.rank),
    el("th", { class: "wide" }, texts.shareOfStep),
    el("th", { class: "num" }, `${texts.busyTime} ${unit.name}`),
  );
  if (view.hasOthers) {
    head.append(el("th", { class: "num" }, `${texts.otherWork} ${unit.name}`));
  }
  words.causes.forEach((cause, i) => {
    if (used[i]) {
      head.append(el("th", { class: "num" }, `${cause} ${unit.name}`));
    }
  });
  head.append(
    el("th", { class: "num" }, texts.busy),
    el("th", { class: "num" }, texts.bubbleShare),
  );
  const body = el("tbody");
  const largest = Math.max(...view.rows.map((r) => Math.max(r.busyNs, ...r.causeNs)), 1) / unit.ns;
  const decimals = largest >= 99.95 ? 1 : 2;
  for (const row of view.rows) {
    const bar = el("div", { class: "pp-bar" });
    const part = (name: string, ns: number, title: string, colour = ""): void => {
      if (ns > 0) {
        const piece = el("span", {
          class: name,
          title: `${title} ${significant(ns / unit.ns)} ${unit.name}`,
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
    const number = (ns: number): HTMLElement =>
      el("td", { class: "num" }, (ns / unit.ns).toFixed(decimals));
    const line = el(
      "tr",
      {},
      el("td", { class: "num" }, row.stage < 0 ? "?" : String(row.stage)),
      el("td", { class: "num quiet" }, String(row.rank)),
      el("td", { class: "wide" }, bar),
      number(row.busyNs),
    );
    if (view.hasOthers) {
      line.append(number(row.otherNs));
    }
    words.causes.forEach((_, i) => {
      if (used[i]) {
        line.append(number(row.causeNs[i] ?? 0));
      }
    });
    const share = row.busyNs / view.windowNs;
    line.append(
      el("td", { class: "num" }, percent(share)),
      el(
        "td",
        { class: "num" },
        row.isTold ? percent(row.causeNs.reduce((a, b) => a + b, 0) / view.windowNs) : "-",
      ),
    );
    body.append(line);
  }
  return el("table", { class: "stages" }, el("thead", {}, head), body);
}

const NS_OF: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6 };

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

/** A table of the program: durations in one unit a column with three significant digits, exact ones on hover. */
export function plainTable(whole: Table): HTMLElement {
  const table = withoutEmptyColumns(whole);
  const head = el("tr");
  const formats = table.columns.map(([name, type, unit, isExact], c) => {
    const isNumber = type !== "text";
    const scale = NS_OF[unit];
    if (isNumber && !isExact && scale !== undefined) {
      const largest =
        Math.max(0, ...table.rows.map((row) => Math.abs(Number(row[c] ?? 0)))) * scale;
      const shown = unitFor(largest);
      head.append(
        el(
          "th",
          { class: "num" },
          `${name.replace(/_(ns|us|ms)$/, "").replace(/_/g, " ")} ${shown.name}`,
        ),
      );
      return (v: number): string => significant((v * scale) / shown.ns);
    }
    const text = name.replace(/_/g, " ");
    head.append(el("th", isNumber ? { class: "num" } : {}, unit === "%" ? `${text} %` : text));
    return unit === "%" ? (v: number): string => v.toFixed(1) : (v: number): string => String(v);
  });
  const body = el("tbody");
  for (const row of table.rows) {
    body.append(
      el(
        "tr",
        {},
        ...row.map((cell, c) => {
          const isNumber = table.columns[c][1] !== "text";
          const attributes: Record<string, string> = isNumber ? { class: "num" } : {};
          if (typeof cell === "number") {
            attributes.title = `${cell} ${table.columns[c][2]}`.trim();
          }
          return el(
            "td",
            attributes,
            cell === null ? "" : typeof cell === "number" ? formats[c](cell) : cell,
          );
        }),
      ),
    );
  }
  return el(
    "section",
    { class: "panel" },
    el("h2", {}, table.title !== "" ? table.title : table.name),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), body)),
    table.note === undefined ? null : el("p", { class: "hint" }, table.note),
  );
}
