/** What is said of a drawn chart: figures of each stage beside its row, and facts over all. */
import { restAfter, shareText, timesAs, valueText } from "../base/format";
import { duration, fixed, percent } from "../base/time";
import type { Column } from "../pipeline/margins";
import type { Chart } from "../pipeline/model";
import {
  bubbleShare,
  overlappedShare,
  pipelinesOf,
  unmarkedShare,
  type Row,
  type View,
} from "../pipeline/rows";
import { openCaptures, shortNames } from "../model/captures";
import { session } from "../model/session";
import { longestText } from "../pipeline/texts";
import { t, type Word } from "../words";
import type { Drawn, Simulated, Under } from "./pipeline_state";

/** Pages that are narrower leave the chart more room: the table below says the rest. */
export const NARROW_PX = 1100;

/** The columns of a view; with `all` false the busy share alone. */
export function columnsFor(view: View | null, all: boolean, isNarrow = false): Column[] {
  const rows = view?.rows ?? [];
  const waiting = rows.flatMap((r) => [r.otherNs, ...r.causeNs]);
  const time: TimeColumn = (word, width, of) => timeColumn(word, width, rows, waiting, of);
  const busy: Column = {
    head: t("chart.busy"),
    width: 52,
    cell: (r) => shareText(r.busyNs / r.windowNs),
    title: (r) =>
      r.overlappedNs > 0
        ? `${duration(r.busyNs)}, ${t("chart.overlapped", percent(r.overlappedNs / r.busyNs))}`
        : duration(r.busyNs),
  };
  return all
    ? [
        busy,
        ...(view?.hasOthers === true && !isNarrow ? [otherColumn(time)] : []),
        ...(isNarrow ? [] : [causeColumn(time, 0, "pipeline.warm-up", 80)]),
        causeColumn(time, 1, "pipeline.stall", 80),
        waitsColumn(),
        ...(isNarrow ? [] : [causeColumn(time, 2, "pipeline.cool-down", 88)]),
        imbalanceColumn(rows),
      ]
    : [busy];
}

type TimeColumn = (word: Word, width: number, of: (row: Row) => number) => Column;

/** `unitOf`: the times whose unit it has, of all columns of waiting. */
function timeColumn(
  word: Word,
  width: number,
  rows: Row[],
  unitOf: number[],
  of: (row: Row) => number,
): Column {
  const shown = timesAs(unitOf, rows.map(of));
  return {
    head: `${t(word)} ${shown.unit}`,
    width,
    cell: (r) => valueText(of(r), shown),
    rest: (text) => restAfter(text, shown),
    title: (r) => duration(of(r)),
  };
}

const causeColumn = (time: TimeColumn, i: number, word: Word, width: number): Column =>
  time(word, width, (r) => r.causeNs[i] ?? 0);

const otherColumn = (time: TimeColumn): Column => time("chart.otherWork", 96, (r) => r.otherNs);

const waitsColumn = (): Column => ({
  head: t("pipeline.for"),
  width: 60,
  cell: (r) => (r.waits === null ? "" : t("pipeline.for-stage", r.waits.stage)),
  title: (r) => (r.waits === null ? "" : t("pipeline.for-title", duration(r.waits.ns))),
});

/** Busy time against the mean of the stages. */
function imbalanceColumn(rows: Row[]): Column {
  const measured = rows.filter((r) => r.ops.n > 0);
  const mean = measured.reduce((sum, r) => sum + r.busyNs, 0) / Math.max(1, measured.length);
  return {
    head: t("pipeline.imbalance"),
    width: 60,
    title: () => t("pipeline.imbalance-title"),
    cell: (r) => {
      const off = mean > 0 ? (100 * (r.busyNs - mean)) / mean : 0;
      return `${off > 0.05 ? "+" : off < -0.05 ? "−" : ""}${fixed(Math.abs(off), 1)} %`;
    },
  };
}

/** What a simulation is compared with: the figures that stand over the chart. `bubble` null: it is not told. */
export const measuredOf = (view: View): { stepNs: number; bubble: number | null } => ({
  stepNs: view.windowNs,
  bubble: bubbleShare(view.rows),
});

/** A simulated step beside what it is to be compared with, the schedule that ran out of the same simulator, and beside what was
 * measured; "" for a simulation without a measurement. */
export function comparedText(
  { reply, under, differs }: Simulated,
  measured: { stepNs: number; bubble: number | null } | null,
): string {
  const own = reply?.replayed_ns;
  if (reply === null || own === undefined) {
    return "";
  }
  const step = reply.step_ns;
  const by = Math.abs(own - step);
  const what = `${reply.used.schedule} ${duration(step)}`.trim();
  const medians = under.startsWith("theory:") ? t("simulate.of-all") : "";
  const replay = withBubble(own, reply.replayed_bubble ?? null) + medians;
  // Of other ops than those that ran it says so.
  const ran =
    differs.length === 0
      ? t("simulate.same-ops", replay)
      : t("simulate.as-ran", replay, differs.map((d) => t(`simulate.differ-${d}`)).join(", "));
  const said =
    by === 0
      ? t("simulate.as-long", what, ran)
      : t(
          step < own ? "simulate.shorter" : "simulate.longer",
          what,
          duration(by),
          percent(by / own),
          ran,
        );
  return measured === null
    ? said
    : t("simulate.and-measured", said, withBubble(measured.stepNs, measured.bubble));
}

const withBubble = (stepNs: number, bubble: number | null): string =>
  bubble === null ? duration(stepNs) : t("simulate.with-bubble", duration(stepNs), percent(bubble));

/** Schedule and how it is known, step, pipeline, length, bubble, and what lies below. */
export function factsOf(drawn: Drawn, view: View, sim: Simulated | null): string[] {
  const { chart } = drawn;
  return [
    drawn.isAlone ? t("pipeline.fact-alone", chart.title) : "",
    isWithoutPipeline(chart) ? t("pipeline.fact-one-stage", chart.ranks.length) : "",
    scheduleText(drawn),
    ...(drawn.isAlone ? [] : choiceTexts(drawn, view)),
    t("pipeline.fact-length", duration(view.windowNs)),
    overlappedText(view),
    bubbleText(view),
    chart.untold,
    drawn.isAlone || sim === null ? "" : simulationText(sim, view),
  ].filter((fact) => fact !== "");
}

function overlappedText(view: View): string {
  const share = overlappedShare(view.rows);
  return share > 0 ? t("chart.overlapped", percent(share)) : "";
}

/** Every rank does the whole model: of a stage that is missing here there would be a row, too. */
const isWithoutPipeline = (chart: Chart): boolean =>
  chart.ranks.length > 0 && pipelinesOf(chart).length === chart.ranks.length;

function bubbleText(view: View): string {
  const bubble = bubbleShare(view.rows);
  const unmarked = unmarkedShare(view.rows);
  return bubble === null
    ? t("pipeline.fact-untold")
    : unmarked > 0
      ? t("chart.bubbleUnmarked", percent(bubble), percent(unmarked))
      : t("pipeline.fact-bubble", percent(bubble));
}

function scheduleText({ chart }: Drawn): string {
  return [chart.schedule, chart.how === "" ? "" : chart.how]
    .filter((text) => text !== "")
    .join(", ");
}

function choiceTexts({ chart, longest }: Drawn, view: View): string[] {
  const step =
    view.step === null
      ? t("pipeline.fact-steps", chart.steps.length)
      : t("pipeline.fact-step", view.step);
  const pipelines = pipelinesOf(chart);
  const pipeline =
    view.pipeline === null
      ? t("pipeline.all-pipelines", pipelines.length)
      : t("chart.pipeline", view.pipeline) +
        longestText(longest, view.step, view.pipeline, { longestOf: t("chart.longestOf", "{0}") });
  return pipelines.length > 1 ? [step, pipeline] : [step];
}

function simulationText(sim: Simulated, view: View): string {
  if (sim.reply === null) {
    return t("pipeline.fact-beside", captureName(sim.under), duration(view.theoryNs));
  }
  const { step_ns, bubble } = sim.reply;
  return t("pipeline.fact-under", underText(sim), duration(step_ns), percent(bubble));
}

function captureName(under: Under): string {
  const number = Number(under.slice("beside:".length));
  return new Map(shortNames(openCaptures(session.get()))).get(number) ?? "";
}

function underText(sim: Simulated): string {
  return sim.under.startsWith("theory:")
    ? t("pipeline.under-theory", sim.under.slice(7))
    : sim.under === "replay"
      ? t("pipeline.fact-replay")
      : (sim.reply?.used.schedule ?? "");
}
