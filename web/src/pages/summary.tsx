/** The Summary page: what the capture is, how the ranks are arranged, what their steps are made of and who differs. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Cell, Table } from "../api/types";
import { registerUrl, urlChanged } from "../model/url_state";
import { Atom, useAtom } from "../base/atom";
import { grouped } from "../base/format";
import { duration, percent } from "../base/time";
import { ranks, session } from "../model/session";
import { StackedBars, type Bar } from "../panels/chart";
import { useColours } from "../panels/drawing";
import { Empty, Failed, Loading } from "../panels/empty";
import { Segments, Select } from "../panels/form";
import { DataTable, LocalTable } from "../panels/table";
import { t, type Word } from "../words";
import { choicesOf, modeTable, reader, useReply, wholeTable } from "./data";
import { Findings } from "./findings";
import { ParallelForm, placeParams, setupParams, type Setup } from "./parallel_form";
import {
  endToEnd,
  entriesOf,
  foldOf,
  FOLDS,
  hasCp,
  INDICATORS,
  ordered,
  ofStep,
  placesOf,
  sizesOf,
  spreadsOf,
  type Algorithm,
  type Box,
  type Entry,
  type Fold,
  type Indicator,
  type Order,
  type Place,
  type Places,
  type Values,
} from "./summary_model";

const TOPS = ["all", "16", "32", "64"] as const;

interface State {
  step: string;
  order: Order;
  top: (typeof TOPS)[number];
  stage: string;
  fold: Fold;
  setup: Setup | null;
}

const FIRST: State = { step: "", order: "index", top: "all", stage: "", fold: "none", setup: null };
const state = new Atom<State>(FIRST);

const part = {
  prefix: "sum",
  read: (): Record<string, string> => {
    const { setup, ...rest } = state.get();
    const changed = Object.entries(rest).filter(
      ([key, value]) => value !== FIRST[key as keyof State],
    );
    return {
      ...(Object.fromEntries(changed) as Record<string, string>),
      ...(setup === null ? {} : { setup: setupText(setup) }),
    };
  },
  write: (from: Record<string, string>): void =>
    state.set({
      step: from.step ?? "",
      order: (["index", ...INDICATORS] as const).find((o) => o === from.order) ?? "index",
      top: TOPS.find((n) => n === from.top) ?? "all",
      stage: from.stage ?? "",
      fold: FOLDS.find((f) => f === from.fold) ?? "none",
      setup: setupFrom(from.setup),
    }),
};

const setupText = (s: Setup): string =>
  [s.algorithm, s.sizes.pp, s.sizes.tp, s.sizes.cp, s.sizes.dp, s.sizes.ep, s.sizes.moetp].join(
    ",",
  );

function setupFrom(text: string | undefined): Setup | null {
  const [algorithm, ...sizes] = (text ?? "").split(",");
  const n = sizes.map(Number);
  return n.length !== 6 || n.some((v) => !Number.isInteger(v) || v < 1)
    ? null
    : {
        algorithm: algorithm as Setup["algorithm"],
        sizes: { pp: n[0], tp: n[1], cp: n[2], dp: n[3], ep: n[4], moetp: n[5] },
      };
}

function change(to: Partial<State>): void {
  state.set({ ...state.get(), ...to });
  urlChanged();
}

export function SummaryPage() {
  const now = useAtom(state);
  useEffect(() => registerUrl(part), []);
  const params = setupParams(now.setup);
  const placing = placeParams(now.setup);
  const reply = useReply(JSON.stringify([params, placing]), async (signal) => ({
    steps: await modeTable("step_trace_time", "ClusterStepTraceTime", params, signal),
    arranged: await get<{
      algorithm: Algorithm;
      collected: Record<string, number> | null;
      places?: (Place & { rank: number })[];
    }>("summary", placing, signal),
  }));
  const steps = reply.data?.steps ?? null;
  const carried = useMemo(() => sizesOf(reply.data?.arranged.collected ?? null), [reply.data]);
  const places = useMemo(() => placesOf(reply.data?.arranged.places), [reply.data]);
  return (
    <main class="page">
      <BaseInfo steps={steps} />
      <Findings view="cluster_advice" verdict="cluster_verdict" title={t("summary.findings")} />
      {reply.error !== null ? (
        <Failed error={reply.error} retry={reply.retry} />
      ) : reply.data === null ? (
        <Loading what={t("summary.working")} />
      ) : steps === null || steps.rows.length === 0 ? (
        <Empty title={t("summary.no-steps")}>
          <p class="quiet">{t("summary.how")}</p>
        </Empty>
      ) : (
        <Overview
          steps={steps}
          notes={steps.notes ?? []}
          own={reply.data.arranged.algorithm}
          carried={carried}
          places={places}
        />
      )}
    </main>
  );
}

function Fact({ name, value }: { name: Word; value: string }) {
  return (
    <div>
      <dt>{t(name)}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function BaseInfo({ steps }: { steps: Table | null }) {
  const known = useAtom(ranks);
  const opened = useAtom(session)!;
  const ready = known.filter((r) => r.origin_ns !== undefined);
  const marks = known.find((r) => r.comm_from_marks !== undefined)?.comm_from_marks;
  const starts = ready.map((r) => BigInt(r.origin_ns!) + BigInt(r.start ?? 0));
  const ends = ready.map((r) => BigInt(r.origin_ns!) + BigInt(r.end ?? 0));
  const first = starts.reduce((a, b) => (b < a ? b : a), starts[0] ?? 0n);
  const last = ends.reduce((a, b) => (b > a ? b : a), ends[0] ?? 0n);
  const info = useReply(`base ${ready.length}`, (signal) =>
    wholeTable("view", { name: "base_info" }, null, signal),
  ).data;
  const size =
    info === null
      ? 0
      : Number(info.rows.find((row) => reader(info, "name")(row) === "data size")?.[1] ?? 0);
  const hosts = new Set(known.map((r) => r.host).filter((h) => h !== ""));
  return (
    <dl class="facts">
      <Fact name="summary.ranks" value={grouped(String(known.length))} />
      {hosts.size > 1 && <Fact name="summary.hosts" value={String(hosts.size)} />}
      <Fact
        name="summary.steps"
        value={String(
          steps === null
            ? Math.max(0, ...known.map((r) => r.steps?.length ?? 0))
            : choicesOf(steps, "step").length,
        )}
      />
      {ready.length > 0 && <Fact name="summary.start" value={moment(first)} />}
      {ready.length > 0 && <Fact name="summary.span" value={duration(Number(last - first))} />}
      <Fact
        name="summary.slices"
        value={grouped(String(ready.reduce((sum, r) => sum + (r.slices ?? 0), 0)))}
      />
      {size > 0 && (
        <Fact
          name="summary.size"
          value={
            size >= 1e9
              ? `${(size / 1e9).toFixed(2)} GB`
              : size >= 1e6
                ? `${(size / 1e6).toFixed(1)} MB`
                : `${(size / 1e3).toFixed(1)} kB`
          }
        />
      )}
      {marks !== undefined && (
        <Fact name="summary.communication" value={t(`comm.from-marks-${marks}`)} />
      )}
      <Fact name="summary.format" value={[...new Set(known.map((r) => r.format))].join(", ")} />
      <Fact name="summary.path" value={opened.clusters.map((c) => c.path).join(", ")} />
    </dl>
  );
}

/** An epoch as a date of this browser's zone; clocks that do not count from 1970 as they are. */
function moment(ns: bigint): string {
  const ms = Number(ns / 1_000_000n);
  return ms > 946_684_800_000 && ms < 4_102_444_800_000
    ? new Date(ms).toLocaleString()
    : duration(Number(ns));
}

function Overview({
  steps,
  notes,
  own,
  carried,
  places,
}: {
  steps: Table;
  notes: string[];
  own: Algorithm;
  carried: ReturnType<typeof sizesOf>;
  places: Places;
}) {
  const now = useAtom(state);
  const entries = useMemo(() => entriesOf(steps), [steps]);
  const names = choicesOf(steps, "step");
  const stepOf = names.includes(now.step) ? now.step : null;
  const all = useMemo(() => ofStep(entries, stepOf), [entries, stepOf]);
  const ofRanks = all.filter((e) => e.type === "rank");
  const stages = [...new Set(ofRanks.map((e) => e.pp).filter((p): p is number => p !== null))].sort(
    (a, b) => a - b,
  );
  const inStage = now.stage === "" ? ofRanks : ofRanks.filter((e) => String(e.pp) === now.stage);
  const shown = ordered(inStage, now.order, now.top === "all" ? 0 : Number(now.top));
  const [rank, setRank] = useState<string | null>(null);
  return (
    <>
      <ParallelForm
        setup={now.setup}
        own={own}
        carried={carried}
        nRanks={ofRanks.length}
        onGenerate={(setup) => change({ setup })}
      />
      <div class="controls-row">
        <Select
          label={t("summary.step")}
          value={stepOf ?? ""}
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
        {now.setup !== null && (
          <>
            <span class="quiet">{t("summary.fold")}</span>
            <Segments
              label={t("summary.fold")}
              value={now.fold}
              options={FOLDS.filter((f) => f !== "tp-cp" || hasCp(now.setup!.algorithm)).map(
                (f) => [f, t(`fold.${f}`)] as const,
              )}
              onChange={(fold) => change({ fold })}
            />
          </>
        )}
      </div>
      {inStage.length > 1 && <Spreads step={stepOf} stage={now.stage} setup={now.setup} />}
      {notes.map((note) => (
        <p class="quiet">{note}</p>
      ))}
      {now.setup !== null && now.fold !== "none" ? (
        <Folded boxes={foldOf(shown, places, now.setup.sizes, now.fold)} />
      ) : (
        <RankBars entries={shown} rank={rank} choose={setRank} />
      )}
      {rank !== null && <RankDetails rank={rank} onClose={() => setRank(null)} />}
      <div class="card flush">
        <LocalTable
          table={tableOf(all, names.length > 1 ? stepOf : null)}
          title={t("summary.table")}
          name="summary"
          urlKey="summary"
          maxRows={16}
          hidden={["type"]}
          onRow={(row) => row.get("type") === "rank" && setRank(String(row.get("index")))}
          isMarked={(row) => row.get("type") === "rank" && row.get("index") === rank}
        />
      </div>
    </>
  );
}

const BARS: Indicator[] = ["preparing", "pure_computing", "overlapped", "exposed", "free"];

function seriesOf(colours: ReturnType<typeof useColours>) {
  const [computing, communication, exposed, free] = colours.lanes;
  return [colours.kinds[8], computing, communication, exposed, free].map((colour, i) => ({
    name: t(`indicator.${BARS[i]}`),
    colour: colour ?? "#808080",
  }));
}

const barOf = (label: string, v: Values): Bar => {
  const whole = endToEnd(v);
  return {
    label,
    parts: BARS.map((i) => (v[i] === null ? null : Math.max(0, v[i]))),
    ratios: [v.computing, v.exposed].map((x) => (x === null || whole <= 0 ? null : x / whole)),
  };
};

function RankBars({
  entries,
  rank,
  choose,
}: {
  entries: Entry[];
  rank: string | null;
  choose: (rank: string | null) => void;
}) {
  const colours = useColours();
  const bars = useMemo(
    () =>
      entries.map((e): Bar => ({
        ...barOf(e.index, e.values),
        isMarked: e.index === rank,
        act: () => choose(e.index === rank ? null : e.index),
      })),
    [entries, rank],
  );
  const lines = [
    { name: t("summary.computing-ratio"), colour: colours.ink },
    { name: t("summary.communication-ratio"), colour: colours.quiet },
  ];
  return (
    <section class="card">
      <h3>{t("summary.overview")}</h3>
      <StackedBars
        title={t("summary.overview")}
        bars={bars}
        series={seriesOf(colours)}
        lines={lines}
        axis={t("summary.axis")}
        height={260}
      />
    </section>
  );
}

/** The largest of each box: what the others of the box wait for. */
function Folded({ boxes }: { boxes: Box[] }) {
  const colours = useColours();
  const table: Table = {
    name: "folded",
    title: "",
    total: boxes.length,
    offset: 0,
    columns: [
      ["box", "text", "", false],
      ["ranks", "text", "", false],
      ...(["computing", "communication", "exposed", "free"] as const).flatMap(
        (i): Table["columns"] => [
          [`${i} max`, "real", "ns", false],
          [`${i} min`, "real", "ns", false],
          [`${i} range`, "real", "ns", false],
        ],
      ),
    ],
    rows: boxes.map((b) => [
      b.label,
      b.ranks.join(", "),
      ...(["computing", "communication", "exposed", "free"] as const).flatMap((i): Cell[] => [
        b.max[i],
        b.min[i],
        b.max[i] === null ? null : b.max[i] - b.min[i]!,
      ]),
    ]),
  };
  return (
    <>
      <section class="card">
        <h3>{t("summary.folded")}</h3>
        <StackedBars
          title={t("summary.folded")}
          bars={boxes.map((b) => barOf(b.label, b.max))}
          series={seriesOf(colours)}
          axis={t("summary.axis-box")}
          height={260}
        />
      </section>
      <div class="card flush">
        <LocalTable table={table} title={t("summary.folded")} maxRows={10} />
      </div>
    </>
  );
}

function Spreads({
  step,
  stage,
  setup,
}: {
  step: string | null;
  stage: string;
  setup: Setup | null;
}) {
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

function tableOf(entries: Entry[], step: string | null): Table {
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
      ...INDICATORS.map((i): Table["columns"][0] => [t(`indicator.${i}`), "real", "ns", false]),
      [t("summary.computing-ratio"), "real", "%", false],
      [t("summary.communication-ratio"), "real", "%", false],
    ],
    rows: entries.map((e) => [
      e.type === "rank" ? e.index : `${e.type} ${e.index}`,
      e.type,
      e.dp,
      e.pp,
      e.tp,
      ...INDICATORS.map((i) => e.values[i]),
      ratio(e.values.computing, e.values),
      ratio(e.values.exposed, e.values),
    ]),
  };
}

/** Computing and communication of one rank (S-24). */
function RankDetails({ rank, onClose }: { rank: string; onClose: () => void }) {
  const known = useAtom(ranks).find((r) => String(r.rank) === rank);
  return (
    <section class="card">
      <div class="controls-row">
        <h3>{t("summary.details-of", rank)}</h3>
        <span class="fill" />
        <button type="button" onClick={onClose}>
          {t("frame.close")}
        </button>
      </div>
      {known?.state !== "ready" ? (
        <p class="quiet">{t("summary.not-read", rank)}</p>
      ) : (
        <div class="columns-2">
          <DataTable
            path="view"
            params={{ name: "operator_cores", rank: known.key }}
            title={t("summary.computing-detail")}
            maxRows={8}
            bars={{ total: "--computing" }}
          />
          <DataTable
            path="view"
            params={{ name: "communication_types", rank: known.key }}
            title={t("summary.communication-detail")}
            maxRows={8}
            bars={{ total: "--communication" }}
          />
        </div>
      )}
    </section>
  );
}
