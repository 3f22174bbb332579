/** How long the communication operators of each rank take. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Ref, Table } from "../api/types";
import { useAtom } from "../base/atom";
import { duration, percent } from "../base/time";
import { rankOf, ranks } from "../model/session";
import { SpanRows, StackedBars, type Spans } from "../panels/chart";
import type { Series } from "../panels/chart_bars";
import type { ViewerTheme } from "../base/theme";
import { Legend, useColours } from "../panels/drawing";
import { Empty } from "../panels/empty";
import { DataTable, LocalTable, type TableRow } from "../panels/table";
import { commTypeWord, rankWord, t } from "../words";
import { beside, type Pairing } from "./beside";
import { BesideLocal } from "./beside_table";
import { find, rowOf } from "./communication_find";
import { chosenType, TOTAL, type Beside, type Choice, type GroupName } from "./communication_model";
import {
  endsTogether,
  opAt,
  opsOf,
  rankTimes,
  slowRanks,
  timesOf,
  type Op,
  type RankTime,
  type Times,
} from "./communication_times_model";
import { Transports } from "./communication_transport";

interface DurationsProps {
  all: Times;
  bandwidth: Table | null;
  base: Beside | null;
  choice: Choice;
  groups: GroupName[];
  /** The operator that the timeline led here with. */
  wanted: Ref | null;
}

export function Durations({ all, bandwidth, base, choice, groups, wanted }: DurationsProps) {
  const times = useMemo(() => rankTimes(all, choice), [all, choice.step, choice.group, choice.op]);
  const [rank, setRank] = useState<number | null>(null);
  useEffect(() => {
    if (wanted !== null) {
      setRank(rankOf(wanted.rank)?.rank ?? null);
    }
  }, [wanted]);
  const isCollective =
    choice.op === TOTAL &&
    choice.group !== "" &&
    groups.find((g) => g.name === choice.group)?.isP2p !== true;
  if (times.length === 0) {
    return <Empty title={t("comm.no-times")} />;
  }
  return (
    <>
      {isCollective && <Slow times={times} />}
      <OnAxis all={all} choice={choice} rank={rank} wanted={wanted} />
      <div class={base === null ? "columns-when-wide" : "columns-when-wide always-one"}>
        <TimeBars times={times} rank={rank} choose={setRank} />
        <div class="card flush">
          <TimesOfRanks all={all} times={times} {...{ choice, base, rank }} choose={setRank} />
        </div>
      </div>
      {bandwidth !== null && bandwidth.rows.length > 0 && (
        <Transports table={bandwidth} choice={choice} />
      )}
      <OperatorsOf rank={rank} />
    </>
  );
}

interface TimesProps {
  all: Times;
  /** Of the choice. */
  times: RankTime[];
  choice: Choice;
  base: Beside | null;
  rank: number | null;
  choose: (rank: number) => void;
}

const TIMES_PAIRING: Pairing = { keys: ["rank"] };

function TimesOfRanks({ all, times, choice, base, rank, choose }: TimesProps) {
  // What the baseline has by type only is taken so here, too.
  const op = base?.choice.op ?? choice.op;
  const type = op === choice.op ? null : chosenType(op);
  const table = useMemo(
    () => timeTable(type === null ? times : rankTimes(all, { ...choice, op })),
    [all, times, op],
  );
  const both = useMemo(
    () =>
      base === null
        ? null
        : beside(table, timeTable(rankTimes(timesOf(base.table), base.choice)), TIMES_PAIRING),
    [table, base],
  );
  const options = {
    title: t("comm.times"),
    urlKey: "times",
    maxRows: 12,
    bars: {
      elapsed: "--communication",
      "wait ratio": "--exposed",
      "synchronization ratio": "--exposed",
    },
    onRow: (row: TableRow) => choose(Number(row.get("rank"))),
    isMarked: (row: TableRow) => row.get("rank") === rank,
  };
  return both === null ? (
    <LocalTable table={table} {...options} />
  ) : (
    <>
      {type !== null && <p class="quiet card-note">{t("comm.by-type", type)}</p>}
      <BesideLocal
        table={both}
        now={table}
        pairing={TIMES_PAIRING}
        lead={["elapsed"]}
        options={options}
      />
    </>
  );
}

/** Of the rank that was chosen, once it is read. */
function OperatorsOf({ rank }: { rank: number | null }) {
  const known = useAtom(ranks).find((r) => r.rank === rank);
  return known?.state !== "ready" ? null : (
    <div class="card flush">
      <DataTable
        path="view"
        params={{ name: "communication_operators", rank: known.key }}
        title={t("comm.operators-of", rankWord(known.label))}
        maxRows={10}
        bars={{ duration: "--communication" }}
      />
    </div>
  );
}

function Slow({ times }: { times: RankTime[] }) {
  const slow = slowRanks(times);
  return slow.length === 0 ? (
    <p class="quiet">{t("comm.even")}</p>
  ) : (
    <ul class="sentences">
      {slow.map((s) => (
        <li>{t("comm.slow", s.rank, duration(s.less_ns), percent(s.share))}</li>
      ))}
    </ul>
  );
}

/** Of more types nobody finds one in a legend: the tip says which it is. */
const MOST_IN_LEGEND = 8;
const NONE_OFF: ReadonlySet<number> = new Set();

interface OnAxisProps {
  all: Times;
  choice: Choice;
  rank: number | null;
  wanted: Ref | null;
}

function OnAxis({ all, choice, rank, wanted }: OnAxisProps) {
  const colours = useColours();
  const ops = useMemo(() => opsOf(all, choice), [all, choice.step, choice.group, choice.op]);
  const [aligned, setAligned] = useState<Op | null>(null);
  const marked = useMemo(() => ops.indexOf(rowOf(all, ops, wanted)), [ops, wanted]);
  const { spans, types, rowRanks, from, to } = useMemo(
    () => spansOf(all, ops, { aligned, marked, align: setAligned }, colours),
    [ops, colours, marked, aligned],
  );
  const names = useMemo(
    () => rowRanks.map((n) => t("comm.rank-n", n) + (n === rank ? " ◂" : "")),
    [rowRanks, rank],
  );
  if (spans.length === 0) {
    return null;
  }
  return (
    <section class="card">
      <div class="controls-row">
        <h3>{t("comm.axis")}</h3>
        {aligned !== null && (
          <button type="button" onClick={() => setAligned(null)}>
            {t("comm.unalign", aligned.op)}
          </button>
        )}
      </div>
      <SpanRows title={t("comm.axis")} rows={names} spans={spans} from={from} to={to} />
      {types.length <= MOST_IN_LEGEND && <Legend series={types} off={NONE_OFF} />}
    </section>
  );
}

interface OnAxisNow {
  aligned: Op | null;
  /** Its place among the operators, -1 for none. */
  marked: number;
  align: (to: Op) => void;
}

/** A row a rank, moved so that the ends of `aligned` stand below one another, if there is one. */
function spansOf(
  all: Times,
  ops: readonly number[],
  { aligned, marked, align }: OnAxisNow,
  colours: ViewerTheme,
): { spans: Spans; types: Series[]; rowRanks: number[]; from: number; to: number } {
  const moved = aligned === null ? null : endsTogether(all, ops, aligned);
  const rowRanks: number[] = [];
  const [row, start, end] = [0, 1, 2].map(() => new Float64Array(ops.length));
  const isType = new Set<string>();
  let [from, to] = [Infinity, -Infinity];
  ops.forEach((op, i) => {
    const rank = all.rank[op];
    if (rowRanks.at(-1) !== rank) {
      rowRanks.push(rank);
    }
    row[i] = rowRanks.length - 1;
    start[i] = all.start[op] + (moved?.get(rank) ?? 0);
    end[i] = start[i] + (all.elapsed[op] || 0);
    from = Math.min(from, start[i]);
    to = Math.max(to, end[i]);
    isType.add(all.types[all.ops.at[op]]);
  });
  const tints = new Map(
    [...isType].sort().map((type, i) => [type, colours.tints[i % 12] ?? colours.accent]),
  );
  const spans: Spans = {
    ...{ length: ops.length, row, start, end, marked },
    labelOf: (i) => opAt(all, ops[i]),
    colourOf: (i) => tints.get(all.types[all.ops.at[ops[i]]])!,
    linesOf: (i) => linesOf(all, ops[i]),
    act: (i, e) => (e.shiftKey ? align(opOf(all, ops[i])) : void find(all, ops[i])),
  };
  const types = [...tints].map(([type, colour]) => ({ name: commTypeWord(type), colour }));
  return { spans, types, rowRanks, from, to };
}

const opOf = ({ steps, groups, ops }: Times, row: number): Op => ({
  step: steps.words[steps.at[row]],
  group: groups.words[groups.at[row]],
  op: ops.words[ops.at[row]],
});

function linesOf(all: Times, row: number): [string, string][] {
  const known = (word: string, ns: number): [string, string][] =>
    Number.isNaN(ns) ? [] : [[word, duration(ns)]];
  return [
    ...known(t("comm.transit"), all.transit[row]),
    ...known(t("comm.wait"), all.wait[row]),
    [t("comm.group"), opOf(all, row).group],
  ];
}

interface TimeBarsProps {
  times: RankTime[];
  rank: number | null;
  choose: (rank: number | null) => void;
}

interface Part {
  name: string;
  colour: string;
  of: (r: RankTime) => number;
}

interface Ratio {
  name: string;
  colour: string;
  of: (r: RankTime) => number | null;
}

/** What is known of all of it: what it was made of, by the profiler or by its tasks, which tell no first wait; else only waiting, from
 * when the others began. */
function partsOf(times: RankTime[], colours: ViewerTheme): { parts: Part[]; ratios: Ratio[] } {
  const wait = colours.kinds[8] ?? colours.hatch;
  const lane = (i: number): string => colours.lanes[i] ?? "#808080";
  if (!times.some((r) => r.isSplit)) {
    return {
      parts: [
        {
          name: t("comm.transit-or-unknown"),
          colour: lane(1),
          of: (r) => Math.max(0, r.elapsed - r.wait),
        },
        { name: t("comm.wait"), colour: wait, of: (r) => r.wait },
      ],
      ratios: [],
    };
  }
  const hasSync = times.some((r) => r.hasSync);
  return {
    parts: [
      { name: t("comm.transit"), colour: lane(1), of: (r) => r.transit },
      ...(hasSync
        ? [
            { name: t("comm.sync"), colour: lane(2), of: (r: RankTime) => r.sync },
            {
              name: t("comm.wait-rest"),
              colour: wait,
              of: (r: RankTime) => Math.max(0, r.wait - r.sync),
            },
          ]
        : [{ name: t("comm.wait"), colour: wait, of: (r: RankTime) => r.wait }]),
      { name: t("comm.idle"), colour: lane(3), of: (r) => r.idle },
    ],
    ratios: [
      ...(hasSync
        ? [{ name: t("comm.sync-ratio"), colour: colours.ink, of: (r: RankTime) => r.syncRatio }]
        : []),
      { name: t("comm.wait-ratio"), colour: colours.quiet, of: (r) => r.waitRatio },
    ],
  };
}

function TimeBars({ times, rank, choose }: TimeBarsProps) {
  const colours = useColours();
  const { parts, ratios } = partsOf(times, colours);
  const bars = useMemo(
    () =>
      times.map((r) => ({
        label: String(r.rank),
        parts: parts.map((part) => part.of(r)),
        ratios: ratios.map((part) => part.of(r)),
        isMarked: r.rank === rank,
        act: () => choose(r.rank === rank ? null : r.rank),
      })),
    [times, rank],
  );
  if (!times.some((r) => r.isSplit || r.hasWait)) {
    return (
      <section class="card">
        <h3>{t("comm.parts")}</h3>
        <Empty title={t("comm.no-parts")}>
          <p class="quiet">{t("comm.how-parts")}</p>
        </Empty>
      </section>
    );
  }
  return (
    <section class="card">
      <h3>{t("comm.parts")}</h3>
      <StackedBars
        title={t("comm.parts")}
        bars={bars}
        series={parts}
        lines={ratios}
        axis={t("summary.axis")}
        height={220}
      />
    </section>
  );
}

const timeTable = (times: RankTime[]): Table => ({
  name: "communication_time",
  title: "",
  total: times.length,
  offset: 0,
  columns: [
    ["rank", "int", "", false],
    ...(["elapsed", "transit", "synchronization", "wait", "rest"] as const).map(
      (n): Table["columns"][0] => [n, "real", "ns", false],
    ),
    ["synchronization ratio", "real", "%", false],
    ["wait ratio", "real", "%", false],
  ],
  rows: times.map((r) => [
    r.rank,
    r.elapsed,
    ...(r.isSplit
      ? [r.transit, r.hasSync ? r.sync : null, r.wait, r.idle]
      : [null, null, r.hasWait ? r.wait : null, null]),
    r.syncRatio === null ? null : 100 * r.syncRatio,
    r.waitRatio === null ? null : 100 * r.waitRatio,
  ]),
});
