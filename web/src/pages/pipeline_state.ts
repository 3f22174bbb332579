/** What the Pipeline page looks at: the chart of a cluster, the choice of it, what lies below the measured rows, and the form of
 * the simulation. It outlives the page; the address holds it. */
import { ApiError, get, post, type Params } from "../api/client";
import type {
  ChartReply,
  ChartTable,
  SimulateAsk,
  SimulateFrom,
  SimulateReply,
} from "../api/types";
import { Atom } from "../base/atom";
import { fail, sentenceOf } from "../model/notices";
import type { Chart, Shown } from "../pipeline/model";
import { hasPhases, pipelinesOf } from "../pipeline/rows";
import { unpack, type Packed } from "../pipeline/unpack";
import { language, spoken } from "../words";
import { cluster, job, jobParams } from "./job_state";

export interface Loaded {
  chart: Chart;
  tables: ChartTable[];
  view: Shown;
  places: [string, number][];
}

/** null: all. */
export interface Choice {
  pipeline: number | null;
  step: number | null;
  byPhase: boolean;
}

/** What lies below the measured rows: nothing, the form's simulation, the measured schedule replayed, the theory of one, or the chart of
 * another capture. */
export type Under = "none" | "form" | "replay" | `theory:${string}` | `beside:${number}`;

/** Of the form; null and not there: as measured. */
export interface Form {
  schedule: string | null;
  stages: number | null;
  microbatches: number | null;
  chunks: number | null;
  group: number | null;
  overlap: boolean;
  tail: "split" | "full" | null;
  f_ns: number | null;
  b_ns: number | null;
  w_ns: number | null;
  fb_ns: number | null;
  p2p_ns: number | null;
  /** By stage; those that are not 1. */
  factors: Readonly<Record<number, number>>;
}

export const NO_FORM: Form = {
  schedule: null,
  stages: null,
  microbatches: null,
  chunks: null,
  group: null,
  overlap: false,
  tail: null,
  f_ns: null,
  b_ns: null,
  w_ns: null,
  fb_ns: null,
  p2p_ns: null,
  factors: {},
};

export interface Simulated {
  /** null: it was measured, in another capture. */
  reply: Omit<SimulateReply, "chart"> | null;
  chart: Chart;
  under: Under;
  /** In what, beside the schedule, its ops are not those that ran. */
  differs: readonly Difference[];
}

export type Difference = "durations" | "shape";

/** What is drawn: the measured chart with something below it, or a simulation alone. */
export interface Drawn {
  chart: Chart;
  longest: Shown["longest"];
  against: Chart | null;
  choice: Choice;
  isAlone: boolean;
}

export function drawnOf(now: Loaded | null, sim: Simulated | null, chosen: Choice): Drawn | null {
  if (now !== null) {
    return {
      chart: now.chart,
      longest: now.view.longest,
      against: sim?.chart ?? null,
      choice: chosen,
      isAlone: false,
    };
  }
  return sim === null
    ? null
    : {
        chart: sim.chart,
        longest: [],
        against: null,
        choice: { ...chosen, step: 1, pipeline: 0 },
        isAlone: true,
      };
}

export const loaded = new Atom<Loaded | null>(null);
/** Why there is no chart. */
export const failure = new Atom<unknown>(null);
export const isLoading = new Atom(false);
export const choice = new Atom<Choice>({ pipeline: 0, step: null, byPhase: false });
export const under = new Atom<Under>("none");
export const form = new Atom<Form>(NO_FORM);
export const simulated = new Atom<Simulated | null>(null);
/** What the form says of the measurement while no simulation is drawn; null: not known. */
export const filled = new Atom<SimulateReply["used"] | null>(null);
/** A sentence: why the form cannot be simulated. */
export const refusal = new Atom<string | null>(null);
export const isSimulating = new Atom(false);
export const arrows = new Atom(false);
/** The critical path over the chart. */
export const path = new Atom(false);
export const figures = new Atom(true);

/** What the address said, until the chart it is about is here. */
let wanted: {
  step: string | undefined;
  pipeline: string | undefined;
  by: string | undefined;
} | null = null;
/** The rank whose pipeline is wanted, until the chart is here. */
let wantedRank: number | null = null;
/** The same of the window, taken by the page when it has drawn the chart. */
export const wantedWindow = new Atom<{ from: number; to: number } | null>(null);
/** Likewise of the block that is kept lit, "" for none, until the chart or what lies below it has it. */
export const wantedPin = new Atom<string | null>(null);

export const chartParams = (): Params => ({ cluster: cluster.get(), ...jobParams(), ...spoken() });

/** How long it takes stands in the browser's own measurements, for the bench. */
function decode(packed: Packed): Chart {
  performance.mark("chart-decode");
  const chart = unpack(packed);
  performance.measure("chart-decode", "chart-decode");
  return chart;
}

// --- the chart ---------------------------------------------------------------------------------------------------

/** Of a capture, as the server finds its job. */
export async function chartOf(capture: number): Promise<Pick<Loaded, "chart" | "places">> {
  const reply = await get<ChartReply>("chart", { cluster: capture });
  return { chart: decode(reply.chart), places: reply.places };
}

let asking: AbortController | null = null;

export async function loadChart(): Promise<void> {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  isLoading.set(true);
  failure.set(null);
  try {
    const reply = await get<ChartReply>("chart", chartParams(), mine.signal);
    const chart = decode(reply.chart);
    choice.set(choiceFor(chart, reply.view));
    loaded.set({ chart, tables: reply.tables, view: reply.view, places: reply.places });
  } catch (error) {
    if (sentenceOf(error) === null) {
      return; // given up: another is on its way
    }
    loaded.set(null);
    failure.set(error);
    if (!(error instanceof ApiError)) {
      fail(error);
    }
  }
  isLoading.set(false);
  simulate();
}

function choiceFor(chart: Chart, view: Shown): Choice {
  const all = pipelinesOf(chart);
  const steps = chart.steps;
  const asked = wanted;
  const ofRank = chart.ranks.find((r) => r.rank === wantedRank)?.pipeline;
  wanted = null;
  wantedRank = null;
  const step = Number(asked?.step);
  const pipeline = Number(asked?.pipeline);
  return {
    step:
      asked?.step === "all"
        ? null
        : asked?.step !== undefined && steps.includes(step)
          ? step
          : view.step,
    pipeline:
      ofRank ??
      (asked?.pipeline === "all"
        ? null
        : asked?.pipeline !== undefined && all.includes(pipeline)
          ? pipeline
          : view.pipeline),
    byPhase: hasPhases(chart) && asked?.by !== "kind",
  };
}

/** Shows the pipeline that a rank is of: now, or with the chart that is on its way. */
export function showPipelineOf(rank: number): void {
  wantedRank = rank;
  const now = loaded.get();
  if (now !== null && !isLoading.get()) {
    const { pipeline } = choiceFor(now.chart, now.view);
    choice.update((c) => ({ ...c, pipeline }));
  }
}

export function stepBy(by: number): void {
  const now = loaded.get();
  const { step } = choice.get();
  const steps = now === null ? [] : now.chart.steps;
  const next =
    step === null ? (by > 0 ? steps[0] : steps[steps.length - 1]) : steps[steps.indexOf(step) + by];
  if (next !== undefined) {
    choice.update((c) => ({ ...c, step: next }));
  }
}

// --- the simulation ----------------------------------------------------------------------------------------------

function fromNow(): SimulateFrom | undefined {
  const { step, pipeline } = choice.get();
  return loaded.get() === null
    ? undefined
    : {
        cluster: cluster.get(),
        ...jobParams(),
        ...spoken(),
        ...(step !== null ? { step } : {}),
        ...(pipeline !== null ? { pipeline } : {}),
      };
}

/** The numbers a simulation without a measurement begins with. */
const ALONE = { schedule: "1f1b", stages: 4, microbatches: 8 };

export function askOf(what: Under): SimulateAsk {
  const from = fromNow();
  const base: SimulateAsk = from !== undefined ? { from } : { ...ALONE };
  if (what.startsWith("theory:")) {
    return { ...base, schedule: what.slice(7), balanced: true };
  }
  if (what !== "form") {
    return base;
  }
  const f = form.get();
  const ask: SimulateAsk = { ...base };
  for (const name of [
    "schedule",
    "stages",
    "microbatches",
    "chunks",
    "group",
    "tail",
    "f_ns",
    "b_ns",
    "w_ns",
    "fb_ns",
    "p2p_ns",
  ] as const) {
    const value = f[name];
    if (value !== null) {
      Object.assign(ask, { [name]: value });
    }
  }
  if (f.overlap) {
    ask.overlap = true;
  }
  const n = f.stages ?? stagesNow() ?? ALONE.stages;
  if (Object.keys(f.factors).some((s) => Number(s) < n)) {
    ask.factors = Array.from({ length: n }, (_, s) => f.factors[s] ?? 1);
  }
  return ask;
}

const differsIn = (body: SimulateAsk): Difference[] => [
  ...(DURATIONS.some((name) => body[name] !== undefined) ? (["durations"] as const) : []),
  ...(SHAPE.some((name) => body[name] !== undefined) ? (["shape"] as const) : []),
];
const DURATIONS = ["f_ns", "b_ns", "w_ns", "fb_ns", "p2p_ns", "factors", "balanced"] as const;
const SHAPE = ["stages", "microbatches"] as const;

/** How many stages the last simulation had without being told. */
function stagesNow(): number | null {
  return measuredStages ?? (loaded.get() === null ? ALONE.stages : null);
}

let measuredStages: number | null = null;
let simulating: AbortController | null = null;
let timer = 0;
/** What is not asked for again. */
let last = "";

async function run(): Promise<void> {
  const what = under.get();
  const alone = loaded.get() === null;
  if (what === "none" && !alone) {
    last = "";
    simulated.set(null);
    refusal.set(null);
    isSimulating.set(false);
    return;
  }
  if (what.startsWith("beside:") && !alone) {
    await runBeside(what);
    return;
  }
  const body = askOf(alone && what === "none" ? "form" : what);
  const text = JSON.stringify(body) + (loaded.get() === null ? "" : "measured");
  if (text === last) {
    return;
  }
  last = text;
  const mine = new AbortController();
  simulating = mine;
  isSimulating.set(true);
  try {
    const reply = await post<SimulateReply>("simulate", body, mine.signal);
    const { chart, ...rest } = reply;
    const decoded = decode(chart);
    if (body.stages === undefined) {
      measuredStages = reply.used.stages;
    }
    if (simulating !== mine) {
      return; // another is on its way
    }
    refusal.set(null);
    filled.set(reply.used);
    simulated.set({ reply: rest, chart: decoded, under: what, differs: differsIn(body) });
  } catch (error) {
    const sentence = sentenceOf(error);
    if (sentence === null || simulating !== mine) {
      return;
    }
    last = "";
    refusal.set(sentence);
    if (simulated.get()?.under !== what) {
      simulated.set(null);
    }
  }
  simulating = null;
  isSimulating.set(false);
}

/** Asks for what the form shows although nothing of it is drawn. */
export async function fillForm(): Promise<void> {
  const body = askOf("form");
  const text = JSON.stringify(body);
  try {
    const { used } = await post<SimulateReply>("simulate", body);
    if (text === JSON.stringify(askOf("form"))) {
      filled.set(used);
    }
  } catch {
    // why it cannot be simulated is said once it is drawn
  }
}

/** The chart of another capture, its steps beside those of this one. */
async function runBeside(what: Under): Promise<void> {
  const params = { ...chartParams(), beside: what.slice("beside:".length) };
  const text = JSON.stringify(params);
  if (text === last) {
    return;
  }
  last = text;
  const mine = new AbortController();
  simulating = mine;
  isSimulating.set(true);
  try {
    const { against } = await get<{ against: Packed }>("chart", params, mine.signal);
    if (simulating !== mine) {
      return;
    }
    refusal.set(null);
    simulated.set({ reply: null, chart: decode(against), under: what, differs: [] });
  } catch (error) {
    const sentence = sentenceOf(error);
    if (sentence === null || simulating !== mine) {
      return;
    }
    last = "";
    refusal.set(sentence);
    simulated.set(null);
  }
  simulating = null;
  isSimulating.set(false);
}

/** Soon: what a slider does in between is left out. */
export function simulate(): void {
  clearTimeout(timer);
  if (simulating !== null) {
    simulating.abort();
    simulating = null;
    last = ""; // what was given up has to be asked for again
  }
  timer = window.setTimeout(() => void run(), 60);
}

/** As measured, but for stages that take so many times as long. */
export const simulateStages = (factors: Record<number, number>): void =>
  form.set({ ...NO_FORM, factors });

/** The form says something else. */
export function change(by: Partial<Form>): void {
  form.update((f) => ({ ...f, ...by }));
  under.set("form");
}

export function changeFactor(stage: number, factor: number): void {
  const factors = { ...form.get().factors };
  delete factors[stage];
  change({ factors: factor === 1 ? factors : { ...factors, [stage]: factor } });
}

let follows = false;

/** Keeps the chart and the simulation up to what is asked for. Once. */
export function follow(): void {
  if (follows) {
    return;
  }
  follows = true;
  const again = (): void => {
    measuredStages = null;
    filled.set(null);
    last = "";
    void loadChart();
  };
  cluster.listen(again);
  job.listen(again);
  language.listen(again);
  for (const atom of [under, form, choice]) {
    atom.listen(simulate);
  }
  for (const atom of [form, choice]) {
    atom.listen(() => filled.set(null));
  }
  void loadChart();
}

// --- the address -------------------------------------------------------------------------------------------------

const number = (text: string | undefined): number | null =>
  text === undefined || text === "" || !Number.isFinite(Number(text)) ? null : Number(text);

const FORM_NUMBERS = [
  "stages",
  "microbatches",
  "chunks",
  "group",
  "f_ns",
  "b_ns",
  "w_ns",
  "fb_ns",
  "p2p_ns",
] as const;

/** Below the chart: tables, and forms. */
export const PANELS = ["stages", "blocks", "path", "waits", "others", "simulate", "job"] as const;
export type Panel = (typeof PANELS)[number];
export const panel = new Atom<Panel>("stages");

/** `lit`: the block that is kept lit, as the chart names it. */
export function readState(
  window: { from: number; to: number } | null,
  lit: string | null,
): Record<string, string> {
  const now = loaded.get();
  // What is asked for holds while the chart is on its way.
  const out = Object.fromEntries(
    Object.entries(wanted ?? {}).filter((said): said is [string, string] => said[1] !== undefined),
  );
  const c = choice.get();
  if (now !== null && wanted === null && c.step !== now.view.step) {
    out.step = c.step === null ? "all" : String(c.step);
  }
  if (now !== null && wanted === null && c.pipeline !== now.view.pipeline) {
    out.pipeline = c.pipeline === null ? "all" : String(c.pipeline);
  }
  if (now !== null && wanted === null && !c.byPhase && hasPhases(now.chart)) {
    out.by = "kind";
  }
  if (under.get() !== "none") {
    out.under = under.get();
  }
  if (arrows.get()) {
    out.arrows = "1";
  }
  if (path.get()) {
    out.path = "1";
  }
  if (!figures.get()) {
    out.figures = "0";
  }
  if (panel.get() !== "stages") {
    out.panel = panel.get();
  }
  if (window !== null) {
    out.window = `${Math.round(window.from)},${Math.round(window.to)}`;
  }
  if (lit !== null && lit !== "") {
    out.lit = lit;
  }
  const f = form.get();
  for (const name of FORM_NUMBERS) {
    if (f[name] !== null) {
      out[`sim-${name}`] = String(f[name]);
    }
  }
  if (f.schedule !== null) {
    out["sim-schedule"] = f.schedule;
  }
  if (f.tail !== null) {
    out["sim-tail"] = f.tail;
  }
  if (f.overlap) {
    out["sim-overlap"] = "1";
  }
  const factors = Object.entries(f.factors).map(([s, v]) => `${s}:${v}`);
  if (factors.length > 0) {
    out["sim-factors"] = factors.join(",");
  }
  return out;
}

export function writeState(state: Record<string, string>): void {
  wanted = { step: state.step, pipeline: state.pipeline, by: state.by };
  const span = state.window?.split(",").map(Number) ?? [];
  wantedWindow.set(
    span.length === 2 && span.every(Number.isFinite) ? { from: span[0], to: span[1] } : null,
  );
  wantedPin.set(state.lit ?? "");
  arrows.set(state.arrows === "1");
  path.set(state.path === "1");
  figures.set(state.figures !== "0");
  panel.set(PANELS.find((name) => name === state.panel) ?? "stages");
  const factors: Record<number, number> = {};
  for (const pair of state["sim-factors"]?.split(",") ?? []) {
    const [stage, factor] = pair.split(":").map(Number);
    if (Number.isInteger(stage) && Number.isFinite(factor)) {
      factors[stage] = factor!;
    }
  }
  const tail = state["sim-tail"];
  form.set({
    ...NO_FORM,
    factors,
    ...Object.fromEntries(FORM_NUMBERS.map((name) => [name, number(state[`sim-${name}`])])),
    schedule: state["sim-schedule"] ?? null,
    tail: tail === "split" || tail === "full" ? tail : null,
    overlap: state["sim-overlap"] === "1",
  });
  const below = state.under;
  under.set(
    below === "form" || below === "replay" || /^(theory:.|beside:\d)/.test(below ?? "")
      ? (below as Under)
      : "none",
  );
  const now = loaded.get();
  if (now !== null && !isLoading.get()) {
    choice.set(choiceFor(now.chart, now.view)); // back and forth in the history
  }
}
