/** What is said about one block or one gap: the text of the tooltip, as lines of name and value. */
import { isTransfer, type Chart, type Label } from "./model";
import { duration, exact } from "../base/time";
import { NO_ID, type Row, type View } from "./rows";

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

function microbatches(label: Label): string {
  const one = (microbatch: number, chunk: number): string =>
    microbatch < 0 ? "unknown" : `${microbatch}${chunk > 0 || label.chunk2 > 0 ? ` of chunk ${chunk}` : ""}`;
  return label.chunk2 >= 0 || label.microbatch2 >= 0
    ? `${one(label.microbatch, label.chunk)} forward, ${one(label.microbatch2, label.chunk2)} backward`
    : one(label.microbatch, label.chunk);
}

function timeLine(name: string, ns: number): [string, string, string] {
  return [name, duration(ns), exact(ns)];
}

export function opDetails(
  chart: Chart, op: number, view: View, words: Words, look: number, isTheory: boolean, shiftNs: number,
): Details {
  const label = chart.labels[chart.label[op]!]!;
  const rank = chart.ranks[chart.rank[op]!]!;
  const lines: Details["lines"] = [];
  lines.push(["stage", rank.stage < 0 ? "unknown" : String(rank.stage), isTheory ? "" : `rank ${rank.rank}`]);
  if (label.microbatch >= 0 || !isTransfer(label.kind)) {
    lines.push(["microbatch", microbatches(label), ""]);
  }
  if (label.phase >= 0) {
    lines.push(["phase", `${label.phase} ${words.phases[label.phase] ?? ""}`, ""]);
  }
  if (view.step === null) {
    lines.push(["step", String(chart.step[op]), ""]);
  }
  const start = chart.start[op]! - shiftNs;
  lines.push(timeLine(isTheory ? "start" : "device start", start));
  lines.push(timeLine(isTheory ? "duration" : "device duration", chart.end[op]! - chart.start[op]!));
  const host = chart.hostStart?.[op] ?? NaN;
  if (!isTheory && !Number.isNaN(host)) {
    lines.push(timeLine("host start", host - shiftNs));
    lines.push(timeLine("host duration", chart.hostEnd![op]! - host));
  }
  if (!isTheory) {
    lines.push(["label from", words.sources[label.source] ?? "", ""]);
  }
  return { title: label.name, kind: kindText(words, label.kind) + (isTheory ? ", theory" : ""), look, lines };
}

export function bubbleDetails(chart: Chart, row: Row, index: number, words: Words, isTheory: boolean): Details {
  const lane = isTheory ? row.theoryBubbles : row.bubbles;
  const lines: Details["lines"] = [
    ["stage", row.stage < 0 ? "unknown" : String(row.stage), isTheory ? "" : `rank ${row.rank}`],
    timeLine("start", lane.start[index]!),
    timeLine("duration", lane.end[index]! - lane.start[index]!),
  ];
  const id = lane.id[index]!;
  const op = isTheory || id === NO_ID ? -1 : chart.bubbles.waitsFor[id]!;
  if (op >= 0) {
    const stage = chart.ranks[chart.rank[op]!]!.stage;
    lines.push(["waits for", `${chart.labels[chart.label[op]!]!.name} on stage ${stage}`, ""]);
  }
  const cause = words.causes[lane.look[index]!] ?? "";
  return { title: `waiting, ${cause}`, kind: isTheory ? "theory" : "", look: null, lines };
}
