/** What is said about one block or one gap: the text of the tooltip, as lines of name and value. */
import { isTransfer, LOOK_OTHER_WORK, type Chart, type Label } from "./model";
import { duration, exact, percent } from "../base/time";
import { isDeciding, linkOf, type PathLink } from "./path";
import { NO_ID, type Row, type View } from "./rows";
import { fill, type Texts } from "./texts";

export interface Words {
  kinds: [short: string, text: string][];
  phases: string[];
  causes: string[];
  sources: string[];
}

export interface Details {
  title: string;
  kind: string;
  look: number | null;
  lines: [name: string, value: string, exact: string][];
}

export function kindText(words: Words, kind: number): string {
  const [short, text] = words.kinds[kind] ?? ["", ""];
  return short.toLowerCase() === text.toLowerCase() ? text : `${short} ${text}`;
}

function microbatches(label: Label, texts: Texts): string {
  const one = (microbatch: number, chunk: number): string =>
    microbatch < 0
      ? texts.unknown
      : chunk > 0 || label.chunk2 > 0
        ? fill(texts.ofChunk, microbatch, chunk)
        : String(microbatch);
  return label.chunk2 >= 0 || label.microbatch2 >= 0
    ? fill(texts.pairOf, one(label.microbatch, label.chunk), one(label.microbatch2, label.chunk2))
    : one(label.microbatch, label.chunk);
}

function timeLine(name: string, ns: number): [string, string, string] {
  const [short, whole] = [duration(ns), exact(ns)];
  return [name, short, short === whole ? "" : whole];
}

const stageLine = (stage: number, rank: string, texts: Texts): [string, string, string] => [
  texts.stage,
  stage < 0 ? texts.unknown : String(stage),
  rank,
];

/** "critical path of pipeline 1, the longest of 2". */
function pathName(chart: Chart, op: number, texts: Texts): string {
  const n = new Set(chart.ranks.map((r) => r.pipeline)).size;
  const { pipeline } = chart.ranks[chart.rank[op]];
  return n < 2
    ? texts.onPath
    : `${fill(texts.pathOf, pipeline)}${isDeciding(chart, op) ? fill(texts.longestOf, n) : ""}`;
}

/** What an op adds to the critical path, and what it waited for before. */
function pathLines(chart: Chart, link: PathLink, texts: Texts): Details["lines"] {
  const share = link.wholeNs > 0 ? link.computing / link.wholeNs : 0;
  const lines: Details["lines"] = [
    [
      pathName(chart, link.op, texts),
      duration(link.computing),
      fill(texts.shareOfPath, percent(share)),
    ],
  ];
  if (link.after >= 0 && link.waiting > 0) {
    const { stage } = chart.ranks[chart.rank[link.after]];
    const before = fill(texts.opOnStage, chart.labels[chart.label[link.after]].name, stage);
    lines.push([texts.waitedBefore, duration(link.waiting), fill(texts.afterOp, before)]);
  }
  return lines;
}

/** What the line of the critical path says between two ops: from which to which, and what was waited there. `look` that of the later. */
export function linkDetails(
  chart: Chart,
  op: number,
  from: number,
  look: number,
  texts: Texts,
): Details {
  const ends = [from, op];
  const names = ends.map((o) => chart.labels[chart.label[o]].name);
  const ranks = ends.map((o) => chart.ranks[chart.rank[o]]);
  const both = (of: (rank: (typeof ranks)[0]) => string): string =>
    [...new Set(ranks.map(of))].join(" \u2192 ");
  return {
    title: names.join(" \u2192 "),
    kind: pathName(chart, op, texts),
    look,
    lines: [
      [
        texts.stage,
        both(({ stage }) => (stage < 0 ? texts.unknown : String(stage))),
        both(({ rank }) => `${texts.rank} ${rank}`),
      ],
      timeLine(texts.waitedBefore, linkOf(chart, op)?.waiting ?? 0),
    ],
  };
}

/** How the same op of the chart that lies on the other side of the row differs: `by` from the block that is looked at to it. */
export function otherLine(
  name: string,
  by: { startNs: number; durationNs: number },
  durationNs: number,
  texts: Texts,
): Details["lines"][number] {
  const { startNs, durationNs: more } = by;
  const start = startNs > 0 ? texts.startsLater : startNs < 0 ? texts.startsEarlier : texts.startsSame; // prettier-ignore
  const length = more > 0 ? texts.takesLonger : more < 0 ? texts.takesLess : texts.takesSame;
  const said = [fill(start, duration(Math.abs(startNs))), fill(length, duration(Math.abs(more)))];
  return [name, fill(texts.bothOf, ...said), duration(durationNs)];
}

export function opDetails(
  chart: Chart,
  op: number,
  view: View,
  words: Words,
  texts: Texts,
  look: number,
  isTheory: boolean,
  shiftNs: number,
  /** Of a pair the microbatch that lights up. */
  lit?: number,
): Details {
  const label = chart.labels[chart.label[op]];
  const rank = chart.ranks[chart.rank[op]];
  const lines: Details["lines"] = [];
  lines.push(stageLine(rank.stage, isTheory ? "" : `${texts.rank} ${rank.rank}`, texts));
  if (label.microbatch >= 0 || !isTransfer(label.kind)) {
    const whose = lit === undefined ? "" : fill(texts.litOne, lit);
    lines.push([texts.microbatch, microbatches(label, texts), whose]);
  }
  if (!isTheory && label.microbatch2 >= 0) {
    lines.push([texts.halves, texts.halvesUnknown, ""]);
  }
  if (label.phase >= 0) {
    lines.push([texts.phase, `${label.phase} ${words.phases[label.phase] ?? ""}`, ""]);
  }
  if (view.step === null) {
    lines.push([texts.step, String(chart.step[op]), ""]);
  }
  const start = chart.start[op] - shiftNs;
  lines.push(timeLine(isTheory ? texts.start : texts.deviceStart, start));
  lines.push(
    timeLine(isTheory ? texts.duration : texts.deviceDuration, chart.end[op] - chart.start[op]),
  );
  const host = chart.hostStart?.[op] ?? NaN;
  if (!isTheory && !Number.isNaN(host)) {
    lines.push(timeLine(texts.hostStart, host - shiftNs));
    lines.push(timeLine(texts.hostDuration, chart.hostEnd![op] - host));
  }
  const link = isTheory ? null : linkOf(chart, op);
  if (link !== null) {
    lines.push(...pathLines(chart, link, texts));
  }
  if (!isTheory) {
    lines.push([texts.labelFrom, words.sources[label.source] ?? "", ""]);
  }
  return {
    title: label.name,
    kind: kindText(words, label.kind) + (isTheory ? `, ${texts.theory}` : ""),
    look,
    lines,
  };
}

export function bubbleDetails(
  chart: Chart,
  row: Row,
  index: number,
  words: Words,
  texts: Texts,
  isTheory: boolean,
  /** Of the place where it is shown. */
  shiftNs = 0,
): Details {
  const lane = isTheory ? row.theoryBubbles : row.bubbles;
  const lines: Details["lines"] = [
    stageLine(row.stage, isTheory ? "" : `${texts.rank} ${row.rank}`, texts),
    timeLine(texts.start, lane.start[index] + shiftNs),
    timeLine(texts.duration, lane.end[index] - lane.start[index]),
  ];
  const id = lane.id[index];
  const op = isTheory || id === NO_ID ? -1 : chart.bubbles.waitsFor[id];
  if (op >= 0) {
    const { stage, rank } = chart.ranks[chart.rank[op]];
    lines.push([
      texts.waitsFor,
      fill(texts.opOnStage, chart.labels[chart.label[op]].name, stage),
      `${texts.rank} ${rank}`,
    ]);
  }
  const cause = words.causes[lane.look[index]] ?? "";
  return {
    title: fill(texts.waiting, cause),
    kind: isTheory ? texts.theory : "",
    look: null,
    lines,
  };
}

export function otherDetails(row: Row, index: number, texts: Texts, shiftNs = 0): Details {
  const lane = row.others;
  return {
    title: texts.otherWork,
    kind: texts.otherWorkHint,
    look: LOOK_OTHER_WORK,
    lines: [
      stageLine(row.stage, `${texts.rank} ${row.rank}`, texts),
      timeLine(texts.start, lane.start[index] + shiftNs),
      timeLine(texts.duration, lane.end[index] - lane.start[index]),
    ],
  };
}
