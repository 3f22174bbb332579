/** The ranks of the job: what their steps are made of, who differs, and the figures of each. */
import { useMemo, useState } from "preact/hooks";
import type { Table } from "../api/types";
import { useAtom } from "../base/atom";
import { duration, percent } from "../base/time";
import { firstCapture } from "../model/captures";
import { isThinned } from "../model/notes";
import { ranks, session } from "../model/session";
import { Segments, Select, useRank } from "../panels/form";
import { DataTable, LocalTable, type TableRow } from "../panels/table";
import { Thinned } from "../panels/thinned";
import { t } from "../words";
import { beside, type Pairing } from "./beside";
import { BesideLocal } from "./beside_table";
import { choicesOf, useReply, wholeTable } from "./data";
import { ParallelForm, setupParams, type Setup } from "./parallel_form";
import { RankGate } from "../panels/rank_gate";
import { Folded, RankBars } from "./summary_bars";
import {
  endToEnd,
  entriesOf,
  FOLDED,
  foldOf,
  FOLDS,
  hasCp,
  INDICATORS,
  ordered,
  ofStep,
  sizesOf,
  spreadsOf,
  type Algorithm,
  type Beside,
  type Entry,
  type Fold,
  type Indicator,
  type Places,
  type Values,
} from "./summary_model";
import { change, state, TOPS } from "./summary_state";
import { Where, type BaseRanks } from "./where";
import { filterOf, unplaced, type Groups, type Spot } from "./where_model";

interface BaseSteps {
  cluster: number;
  steps: Table;
  more: Beside;
}

interface OverviewProps {
  steps: Table;
  more: Beside;
  /** The same of the baseline; null: nothing is compared. */
  base: BaseSteps | null;
  own: Algorithm;
  carried: ReturnType<typeof sizesOf>;
  /** Of the job, captured or not; 0: not known. */
  worldSize: number;
  places: Places;
  /** null: nobody knows where the ranks stand. */
  spots: Spot[] | null;
  groups: Groups;
}

export function Overview(p: OverviewProps) {
  const { steps, own, carried, places, groups } = p;
  const now = useAtom(state);
  const cluster = firstCapture(useAtom(session));
  const known = useAtom(ranks).filter((r) => r.cluster === cluster);
  const spots = useMemo(
    () => p.spots ?? unplaced(known.map((r) => ({ rank: String(r.rank), key: r.key }))),
    [p.spots, known.length],
  );
  const shown = useShown(steps, p.more, spots);
  const baseRanks = useMemo(
    () => (p.base === null ? null : ranksOfBase(p.base, shown.names, shown.step)),
    [p.base, shown.names.join(), shown.step],
  );
  const [rank, setRank] = useState<string | null>(null);
  const { setup, fold } = now;
  return (
    <>
      <ParallelForm
        setup={setup}
        own={own}
        carried={carried}
        nRanks={shown.nRanks}
        worldSize={p.worldSize}
        onGenerate={(made) => change({ setup: made })}
      />
      <Controls shown={shown} />
      <Thinned ranks={known} />
      {nComparable(shown.inStage) > 1 && (
        <Spreads
          step={shown.step}
          stage={now.stage}
          setup={setup}
          isThinned={known.some(isThinned)}
        />
      )}
      {(steps.notes ?? []).map((note) => (
        <p class="quiet">{note}</p>
      ))}
      <div class="columns-when-wide">
        <Where
          entries={shown.entries}
          steps={shown.names}
          step={shown.step}
          spots={spots}
          isArranged={p.spots !== null}
          groups={groups}
          folded={setup === null ? [] : FOLDED[fold]}
          details={setRank}
          base={baseRanks}
        />
        {setup !== null && fold !== "none" ? (
          <Folded boxes={foldOf(shown.ranks, places, setup.sizes, fold)} />
        ) : (
          <RankBars entries={shown.ranks} rank={rank} choose={setRank} />
        )}
      </div>
      {rank !== null && <RankDetails rank={rank} onClose={() => setRank(null)} />}
      <div class="card flush">
        <Figures shown={shown} base={baseRanks} rank={rank} choose={setRank} />
      </div>
    </>
  );
}

interface FiguresProps {
  shown: Shown;
  base: BaseRanks | null;
  rank: string | null;
  choose: (rank: string) => void;
}

/** Every figure of every rank, beside those of the baseline where there is one. */
function Figures({ shown, base: there, rank, choose }: FiguresProps) {
  const known = useMemo(() => knownOf(shown.all), [shown.all]);
  const table = useMemo(
    () => tableOf(shown.all, known, shown.names.length > 1 ? shown.step : null),
    [shown.all, known, shown.step],
  );
  const both = useMemo(
    () =>
      there === null
        ? null
        : beside(table, tableOf(ofStep(there.entries, there.step), known, null), SUMMARY_PAIRING),
    [table, there, known],
  );
  const options = {
    title: t("summary.table"),
    name: "summary",
    urlKey: "summary",
    maxRows: 16,
    hidden: ["type"],
    hints: Object.fromEntries(known.map((i) => [t(`indicator.${i}`), t(`indicator-hint.${i}`)])),
    onRow: (row: TableRow) => row.get("type") === "rank" && choose(String(row.get("index"))),
    isMarked: (row: TableRow) => row.get("type") === "rank" && row.get("index") === rank,
  };
  return both === null || there === null ? (
    <LocalTable table={table} {...options} />
  ) : (
    <>
      {there.step !== null && <p class="quiet">{t("beside.step", there.step)}</p>}
      <BesideLocal
        table={both}
        now={table}
        pairing={SUMMARY_PAIRING}
        lead={[t("indicator.computing")]}
        options={options}
      />
    </>
  );
}

const SUMMARY_PAIRING: Pairing = { keys: ["index", "type"], plain: ["dp", "pp", "tp"] };

/** Of the baseline the step of the same place among its own, since steps of another run have other numbers; all where it has none. */
function ranksOfBase(
  { cluster, steps, more }: BaseSteps,
  names: string[],
  step: string | null,
): BaseRanks {
  const own = choicesOf(steps, "step");
  return {
    cluster,
    entries: entriesOf(steps, more),
    step: step === null ? null : (own[names.indexOf(step)] ?? null),
  };
}

/** What the choice leaves of the steps. */
interface Shown {
  /** Of steps. */
  names: string[];
  /** null: all. */
  step: string | null;
  /** Of all steps. */
  entries: Entry[];
  all: Entry[];
  nRanks: number;
  stages: number[];
  inStage: Entry[];
  /** In order, the first so many. */
  ranks: Entry[];
}

function useShown(steps: Table, more: Beside, spots: Spot[]): Shown {
  const now = useAtom(state);
  const entries = useMemo(() => entriesOf(steps, more), [steps, more]);
  const names = choicesOf(steps, "step");
  const step = names.includes(now.step) ? now.step : null;
  const all = useMemo(() => ofStep(entries, step), [entries, step]);
  const ofRanks = all.filter((e) => e.type === "rank");
  const stages = ofRanks.map((e) => e.pp).filter((p): p is number => p !== null);
  const accepts = filterOf(now.where) ?? (() => true);
  const spotOf = new Map(spots.map((s) => [s.rank, s]));
  const isIn = (e: Entry): boolean => {
    const spot = spotOf.get(e.index);
    return (
      (now.stage === "" || String(e.pp) === now.stage) &&
      (spot === undefined || accepts(spot, null))
    );
  };
  const inStage = ofRanks.filter(isIn);
  return {
    names,
    step,
    entries,
    all: all.filter((e) => e.type !== "rank" || isIn(e)),
    nRanks: ofRanks.length,
    stages: [...new Set(stages)].sort((a, b) => a - b),
    inStage,
    ranks: ordered(inStage, now.order, now.top === "all" ? 0 : Number(now.top)),
  };
}

function Controls({ shown }: { shown: Shown }) {
  const now = useAtom(state);
  const { names, stages, step: chosen } = shown;
  return (
    <div class="controls-row">
      <Select
        label={t("summary.step")}
        value={chosen ?? ""}
        options={[
          ["", t("summary.all-steps")],
          ...names.map((n) => [n, n === "" ? "–" : n] as const),
        ]}
        onChange={(step) => change({ step })}
      />
      {stages.length > 1 && (
        <Select
          label={t("summary.group")}
          value={now.stage}
          options={[
            ["", t("frame.all-ranks")],
            ...stages.map((s) => [String(s), t("summary.stage-n", s)] as const),
          ]}
          onChange={(stage) => change({ stage })}
        />
      )}
      <Select
        label={t("summary.order")}
        value={now.order}
        options={[
          ["index", t("summary.by-rank")],
          ...INDICATORS.map((i) => [i, t(`indicator.${i}`)] as const),
        ]}
        onChange={(order) => change({ order })}
      />
      <span class="quiet">{t("operator.top")}</span>
      <Segments
        label={t("operator.top")}
        value={now.top}
        options={TOPS.map((n) => [n, n === "all" ? t("operator.all") : n] as const)}
        onChange={(top) => change({ top })}
      />
      {now.setup !== null && <FoldChoice setup={now.setup} fold={now.fold} />}
    </div>
  );
}

function FoldChoice({ setup, fold }: { setup: Setup; fold: Fold }) {
  const folds = FOLDS.filter((f) => f !== "tp-cp" || hasCp(setup.algorithm));
  return (
    <>
      <span class="quiet">{t("summary.fold")}</span>
      <Segments
        label={t("summary.fold")}
        value={fold}
        options={folds.map((f) => [f, t(`fold.${f}`)] as const)}
        onChange={(to) => change({ fold: to })}
      />
    </>
  );
}

/** Ranks of which anything is known that spreads are of. */
const nComparable = (ranks: readonly Entry[]): number =>
  ranks.filter(({ values: v }) => v.computing !== null || v.exposed !== null || v.free !== null)
    .length;

interface SpreadsProps {
  step: string | null;
  stage: string;
  setup: Setup | null;
}

/** Nobody knows how ranks compare of which parts were not recorded: the findings say so, too. */
function Spreads({ isThinned, ...of }: SpreadsProps & { isThinned: boolean }) {
  return isThinned ? <p class="quiet">{t("summary.not-judged")}</p> : <Judged {...of} />;
}

function Judged({ step, stage, setup }: SpreadsProps) {
  const params = {
    name: "spread",
    ...(step === null ? {} : { step }),
    ...(stage === "" ? {} : { stage }),
    ...setupParams(setup),
  };
  const view = useReply(JSON.stringify(params), (signal) =>
    wholeTable("view", params, null, signal),
  ).data;
  if (view === null) {
    return null;
  }
  const found = spreadsOf(view);
  return found.length === 0 ? (
    <p class="quiet">{t("summary.even")}</p>
  ) : (
    <ul class="sentences">
      {found.map((s) => (
        <li>
          {t(
            "summary.spread",
            t(`indicator.${s.indicator}`),
            duration(s.spread_ns),
            percent(s.share),
            s.least,
            s.most,
          )}
        </li>
      ))}
    </ul>
  );
}

/** Tables beside that of the steps may be missing: their columns are left out then. */
const knownOf = (entries: readonly Entry[]): Indicator[] =>
  INDICATORS.filter(
    (i) =>
      !(["step_time", "after", "pipeline_bubble"] as Indicator[]).includes(i) ||
      entries.some((e) => e.values[i] !== null),
  );

/** Stages are called as on all pages; one whose number nobody knows by its ranks. What its figures are stands behind the name: each is that
 * of another rank, and they need not add up. */
const nameOf = (e: Entry): string =>
  e.type === "rank"
    ? e.index
    : t(
        "summary.stage-most",
        e.pp !== null
          ? t("summary.stage-n", e.pp)
          : t("summary.stage-of", e.index.replace(/[()]/g, "").replace(/,/g, t("frame.comma"))),
      );

function tableOf(entries: Entry[], known: readonly Indicator[], step: string | null): Table {
  const ratio = (part_: number | null, v: Values): number | null =>
    part_ === null || endToEnd(v) <= 0 ? null : (100 * part_) / endToEnd(v);
  return {
    name: "summary",
    title: "",
    total: entries.length,
    offset: 0,
    notes: step === null ? [] : [t("summary.of-step", step)],
    columns: [
      ["index", "text", "", false],
      ["type", "text", "", false],
      ["dp", "int", "", false],
      ["pp", "int", "", false],
      ["tp", "int", "", false],
      ...known.map((i): Table["columns"][0] => [t(`indicator.${i}`), "real", "ns", false]),
      [t("summary.computing-ratio"), "real", "%", false],
      [t("summary.communication-ratio"), "real", "%", false],
    ],
    rows: entries.map((e) => [
      nameOf(e),
      e.type,
      e.dp,
      e.pp,
      e.tp,
      ...known.map((i) => e.values[i]),
      ratio(e.values.computing, e.values),
      ratio(e.values.exposed, e.values),
    ]),
  };
}

/** Computing and communication of one rank (S-24); it is read when it is not yet. */
function RankDetails({ rank, onClose }: { rank: string; onClose: () => void }) {
  const key = useAtom(ranks).find((r) => String(r.rank) === rank)?.key;
  return (
    <section class="card">
      <div class="controls-row">
        <h3>{t("summary.details-of", rank)}</h3>
        <span class="fill" />
        <button type="button" onClick={onClose}>
          {t("frame.close")}
        </button>
      </div>
      {key === undefined ? (
        <p class="quiet">{t("where.not-here")}</p>
      ) : (
        <Details key={key} of={key} />
      )}
    </section>
  );
}

function Details({ of }: { of: string }) {
  const known = useRank(of);
  return (
    <RankGate rank={known}>
      <div class="columns-2">
        <DataTable
          path="view"
          params={{ name: "operator_cores", rank: of }}
          title={t("summary.computing-detail")}
          maxRows={8}
          bars={{ total: "--computing" }}
        />
        <DataTable
          path="view"
          params={{ name: "communication_types", rank: of }}
          title={t("summary.communication-detail")}
          maxRows={8}
          bars={{ total: "--communication" }}
        />
      </div>
    </RankGate>
  );
}
