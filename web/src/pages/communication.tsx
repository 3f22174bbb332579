/** The Communication page: who sends how much to whom and how fast, and how long the operators of each rank take. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Cell, Ref, Table } from "../api/types";
import { registerUrl, urlChanged } from "../model/url_state";
import { Atom, useAtom } from "../base/atom";
import { duration, percent, significant } from "../base/time";
import { fail, notify } from "../model/notices";
import { rankOf, ranks, show } from "../model/session";
import { findInCommunication } from "../model/timeline";
import { HeatMap, SpanRows, StackedBars, type HeatCell, type Span } from "../panels/chart";
import { useColours } from "../panels/drawing";
import { Empty, Failed, hasNothing, Loading } from "../panels/empty";
import { Check, Segments, Select } from "../panels/form";
import { DataTable, LocalTable } from "../panels/table";
import { t } from "../words";
import {
  groupsOf,
  linksOf,
  opsOf,
  pairsOf,
  rankTimes,
  slowRanks,
  timesOf,
  TOTAL,
  typeOf,
  type Choice,
  type GroupName,
  type LinkRow,
  type Pair,
  type RankTime,
  type TimeRow,
} from "./communication_model";
import { Findings } from "./findings";
import { choicesOf, modeTable, useReply } from "./data";

const VALUES = ["bandwidth", "size", "time", "transport"] as const;
type Value = (typeof VALUES)[number];

const VIEWS = ["matrix", "duration", "advice"] as const;
type View = (typeof VIEWS)[number];

interface State extends Choice {
  view: View;
  value: Value;
  inner: "" | "1";
}

const FIRST: State = {
  step: "",
  group: "",
  op: TOTAL,
  view: "matrix",
  value: "bandwidth",
  inner: "",
};
const state = new Atom<State>(FIRST);
/** Somebody asked for the view that is shown; else captures without a matrix open with durations. */
let isChosen = false;

const part = {
  prefix: "comm",
  read: (): Record<string, string> =>
    Object.fromEntries(
      Object.entries(state.get()).filter(([key, value]) => value !== FIRST[key as keyof State]),
    ),
  write: (from: Record<string, string>): void => {
    isChosen ||= from.view !== undefined;
    state.set({
      step: from.step ?? "",
      group: from.group ?? "",
      op: from.op ?? TOTAL,
      view: VIEWS.find((v) => v === from.view) ?? "matrix",
      value: VALUES.find((v) => v === from.value) ?? "bandwidth",
      inner: from.inner === "1" ? "1" : "",
    });
  },
};

function change(to: Partial<State>): void {
  state.set({ ...state.get(), ...to });
  urlChanged();
}

interface Loaded {
  main: Table | null;
  /** Beside it: bandwidths, with durations. */
  more: Table | null;
}

async function matrixTables(signal: AbortSignal): Promise<Loaded> {
  return {
    main: await modeTable("communication_matrix_sum", "ClusterCommunicationMatrix", {}, signal),
    more: null,
  };
}

async function timeTables(signal: AbortSignal): Promise<Loaded> {
  return {
    main: await modeTable("communication_time_sum", "ClusterCommunicationTime", {}, signal),
    more: await modeTable("communication_time_sum", "ClusterCommunicationBandwidth", {}, signal),
  };
}

export function CommunicationPage() {
  const now = useAtom(state);
  const wanted = useAtom(findInCommunication);
  const marks = useAtom(ranks).find((r) => r.comm_from_marks !== undefined)?.comm_from_marks;
  useEffect(() => registerUrl(part), []);
  useEffect(() => {
    if (wanted !== null) {
      change({ view: "duration", step: "", group: "", op: wanted.name });
    }
  }, [wanted]);
  const matrix = useReply("matrix", now.view === "matrix" ? matrixTables : null);
  const times = useReply("times", now.view === "duration" ? timeTables : null);
  const mapping = useReply("groups", (signal) =>
    modeTable("communication_group_map", "CommunicationGroupMapping", {}, signal),
  );
  const hasNoMatrix = now.view === "matrix" && hasNothing(matrix.error) && mapping.data !== null;
  useEffect(() => {
    if (hasNoMatrix && !isChosen) {
      change({ view: "duration" });
    }
  }, [hasNoMatrix]);
  const reply = now.view === "matrix" ? matrix : times;
  const chooses = now.view !== "advice" && reply.error === null;
  const table = reply.data?.main ?? null;
  const groups = useMemo(
    () => groupsOf(mapping.data, choicesOf(table, "group name")),
    [mapping.data, table],
  );
  const steps = choicesOf(table, "step");
  const ops = useMemo(
    () => [TOTAL, ...choicesOf(table, "hccl op name").filter((o) => o !== TOTAL)],
    [table],
  );
  const isUnknown =
    wanted !== null &&
    now.view === "duration" &&
    now.op === wanted.name &&
    table !== null &&
    !ops.includes(wanted.name);
  useEffect(() => {
    if (isUnknown) {
      notify("warning", t("comm.not-found", wanted.name));
    }
  }, [isUnknown]);
  const choice: Choice = {
    step: steps.includes(now.step) ? now.step : "",
    group: groups.some((g) => g.name === now.group) ? now.group : "",
    op: ops.includes(now.op) ? now.op : TOTAL,
  };
  return (
    <main class="page">
      <div class="controls-row">
        <Segments
          label={t("comm.view")}
          value={now.view}
          options={VIEWS.map((v) => [v, t(`comm.${v}`)] as const)}
          onChange={(view) => {
            isChosen = true;
            change({ view });
          }}
        />
        {chooses && (
          <Select
            label={t("summary.step")}
            value={choice.step}
            options={[["", t("comm.all")], ...steps.map((s) => [s, s === "" ? "–" : s] as const)]}
            onChange={(step) => change({ step })}
          />
        )}
        {chooses && (
          <Select
            label={t("comm.group")}
            value={choice.group}
            options={[["", t("comm.all")], ...groups.map((g) => [g.name, g.text] as const)]}
            onChange={(group) => change({ group })}
          />
        )}
        {chooses && (
          <Select
            label={t("comm.operator")}
            value={choice.op}
            options={ops.map((o) => [o, o === TOTAL ? t("comm.total") : o] as const)}
            onChange={(op) => change({ op })}
          />
        )}
        {chooses && now.view === "matrix" && (
          <>
            <Select
              label={t("comm.value")}
              value={now.value}
              options={VALUES.map((v) => [v, t(`comm.${v}`)] as const)}
              onChange={(value) => change({ value })}
            />
            <Check
              label={t("comm.inner")}
              checked={now.inner === "1"}
              onChange={(on) => change({ inner: on ? "1" : "" })}
            />
          </>
        )}
      </div>
      {marks !== undefined && <p class="quiet">{t(`comm.marks-${marks}`)}</p>}
      {now.view === "advice" ? (
        <Advice />
      ) : reply.error !== null ? (
        <Failed error={reply.error} retry={reply.retry}>
          {hasNoMatrix && (
            <button type="button" onClick={() => change({ view: "duration" })}>
              {t("comm.to-durations")}
            </button>
          )}
        </Failed>
      ) : reply.data === null ? (
        <Loading what={t("comm.working")} />
      ) : table === null || table.rows.length === 0 ? (
        <Empty title={t("comm.none")}>
          <p class="quiet">{t("comm.how")}</p>
        </Empty>
      ) : (
        <>
          {(table.notes ?? []).map((note) => (
            <p class="quiet">{note}</p>
          ))}
          {now.view === "matrix" ? (
            <Matrix table={table} choice={choice} value={now.value} inner={now.inner === "1"} />
          ) : (
            <Durations
              table={table}
              bandwidth={times.data?.more ?? null}
              choice={choice}
              groups={groups}
              wanted={wanted}
            />
          )}
        </>
      )}
    </main>
  );
}

/** Findings, the links that are slower than their like, and who came late. */
function Advice() {
  return (
    <>
      <Findings view="communication_advice" title={t("comm.findings")} />
      <div class="card flush">
        <DataTable
          path="view"
          params={{ name: "communication_late" }}
          maxRows={10}
          urlKey="late"
          bars={{ "lateTime(us)": "--exposed", "waitTime(us)": "--exposed" }}
        />
      </div>
      <div class="card flush">
        <DataTable
          path="view"
          params={{ name: "communication_links" }}
          maxRows={8}
          urlKey="slow"
          empty={<Empty title={t("comm.no-slow-links")} />}
        />
      </div>
      <div class="card flush">
        <DataTable
          path="view"
          params={{ name: "communication_stats" }}
          maxRows={10}
          urlKey="stats"
          bars={{ SumNs: "--communication" }}
        />
      </div>
    </>
  );
}

// --- matrix ---------------------------------------------------------------------------------------------------------

const UNIT: Record<Value, string> = { bandwidth: "GB/s", size: "MB", time: "ms", transport: "" };
const figure = (pair: Pair, value: Value): number =>
  value === "size" ? pair.size / 1e6 : value === "time" ? pair.time_ns / 1e6 : pair.bandwidth;

function Matrix({
  table,
  choice,
  value,
  inner,
}: {
  table: Table;
  choice: Choice;
  value: Value;
  inner: boolean;
}) {
  const links: LinkRow[] = useMemo(() => linksOf(table), [table]);
  const pairs = useMemo(
    () => pairsOf(links, choice, inner),
    [links, choice.step, choice.group, choice.op, inner],
  );
  const [marked, setMarked] = useState<string | null>(null);
  const names = [...new Set(pairs.flatMap((p) => [p.source, p.destination]))].sort((a, b) => a - b);
  const place = new Map(names.map((rank, i) => [rank, i]));
  const kinds = [...new Set(pairs.map((p) => p.transport.join("+")))].sort();
  const cells: (HeatCell & { pair: Pair })[] = useMemo(
    () =>
      pairs.map((pair) => ({
        row: place.get(pair.destination)!,
        column: place.get(pair.source)!,
        pair,
        value:
          value === "transport" ? kinds.indexOf(pair.transport.join("+")) + 1 : figure(pair, value),
      })),
    [pairs, value],
  );
  if (pairs.length === 0) {
    return (
      <Empty title={t("comm.no-links")}>
        {!inner && links.some((l) => l.source === l.destination) && (
          <p class="quiet">{t("comm.only-inner")}</p>
        )}
      </Empty>
    );
  }
  const rows: Table = {
    name: "links",
    title: "",
    total: pairs.length,
    offset: 0,
    columns: [
      ["source", "int", "", false],
      ["destination", "int", "", false],
      ["transport type", "text", "", false],
      ["transit size", "real", "bytes", false],
      ["transit time", "real", "ns", false],
      ["bandwidth", "real", "GB/s", false],
      ["operator", "text", "", false],
    ],
    rows: pairs.map((p): Cell[] => [
      p.source,
      p.destination,
      p.transport.join(" + "),
      p.size,
      p.time_ns,
      p.bandwidth,
      p.example === "" ? null : p.example,
    ]),
  };
  const side = Math.max(220, Math.min(520, 48 + names.length * 36));
  return (
    <div class="columns-matrix">
      <section class="card" style={{ width: `${Math.max(420, side + 40)}px` }}>
        <HeatMap
          title={`${t("comm.matrix")} ${t(`comm.${value}`)}`}
          rows={names.map(String)}
          columns={names.map(String)}
          rowAxis={t("comm.to")}
          columnAxis={t("comm.from")}
          cells={cells}
          unit={UNIT[value]}
          text={(v) => (value === "transport" ? (kinds[v - 1] ?? "") : significant(v))}
          lines={(cell) => linesOf((cell as HeatCell & { pair: Pair }).pair)}
          isMarked={(cell) => marked === `${names[cell.column]} ${names[cell.row]}`}
          onCell={(cell) => setMarked(`${names[cell.column]} ${names[cell.row]}`)}
          isLowStrong={value === "bandwidth"}
          height={side}
        />
      </section>
      <div class="card flush">
        <LocalTable
          table={rows}
          title={t("comm.links")}
          urlKey="links"
          maxRows={Math.max(12, Math.floor(side / 24))}
          bars={{ bandwidth: "--communication" }}
          isMarked={(row) => marked === `${row.get("source")} ${row.get("destination")}`}
          onRow={(row) => setMarked(`${row.get("source")} ${row.get("destination")}`)}
        />
      </div>
    </div>
  );
}

const linesOf = (p: Pair): [string, string][] => [
  [t("comm.bandwidth"), `${significant(p.bandwidth)} GB/s`],
  [t("comm.size"), `${significant(p.size / 1e6)} MB`],
  [t("comm.time"), duration(p.time_ns)],
  [t("comm.transport"), p.transport.join(" + ")],
  ...(p.example === "" ? [] : ([[t("comm.operator"), p.example]] as [string, string][])),
];

// --- durations ------------------------------------------------------------------------------------------------------

const MOST_SPANS = 20_000;

interface DurationsProps {
  table: Table;
  bandwidth: Table | null;
  choice: Choice;
  groups: GroupName[];
  /** The operator that the timeline led here with. */
  wanted: Ref | null;
}

function Durations({ table, bandwidth, choice, groups, wanted }: DurationsProps) {
  const rows = useMemo(() => timesOf(table), [table]);
  const times = useMemo(
    () => rankTimes(rows, choice),
    [rows, choice.step, choice.group, choice.op],
  );
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
  const known = useAtom(ranks).find((r) => r.rank === rank);
  const filters = {
    ...(choice.step === "" ? {} : { step: choice.step }),
    ...(choice.group === "" ? {} : { group_name: choice.group }),
    ...(choice.op === "" ? {} : { hccl_op_name: choice.op }),
  };
  if (times.length === 0) {
    return <Empty title={t("comm.no-times")} />;
  }
  return (
    <>
      {isCollective && <Slow times={times} />}
      <OnAxis rows={rows} choice={choice} rank={rank} wanted={wanted} />
      <TimeBars times={times} rank={rank} choose={setRank} />
      <div class="card flush">
        <LocalTable
          table={timeTable(times)}
          title={t("comm.times")}
          urlKey="times"
          maxRows={12}
          bars={{
            elapsed: "--communication",
            "wait ratio": "--exposed",
            "synchronization ratio": "--exposed",
          }}
          onRow={(row) => setRank(Number(row.get("rank")))}
          isMarked={(row) => row.get("rank") === rank}
        />
      </div>
      {bandwidth !== null && bandwidth.rows.length > 0 && (
        <div class="card flush">
          <LocalTable
            key={JSON.stringify(filters)}
            table={bandwidth}
            title={t("comm.bandwidths")}
            maxRows={10}
            filter={filters}
            bars={{ bandwidth: "--communication" }}
          />
        </div>
      )}
      {known?.state === "ready" && (
        <div class="card flush">
          <DataTable
            path="view"
            params={{ name: "communication_operators", rank: known.key }}
            title={t("comm.operators-of", known.label)}
            maxRows={10}
            bars={{ duration: "--communication" }}
          />
        </div>
      )}
    </>
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

function OnAxis({
  rows,
  choice,
  rank,
  wanted,
}: {
  rows: TimeRow[];
  choice: Choice;
  rank: number | null;
  wanted: Ref | null;
}) {
  const colours = useColours();
  const all = useMemo(() => opsOf(rows, choice), [rows, choice.step, choice.group, choice.op]);
  const shown = all.slice(0, MOST_SPANS);
  const names = [...new Set(shown.map((r) => r.rank))].sort((a, b) => a - b);
  const types = [...new Set(shown.map((r) => typeOf(r.op)))].sort();
  const from = Math.min(...shown.map((r) => r.start_ns!));
  const to = Math.max(...shown.map((r) => r.start_ns! + r.elapsed));
  const marked = useMemo(() => rowOf(all, wanted), [all, wanted]);
  const spans = useMemo(
    (): Span[] =>
      shown.map((r) => ({
        row: names.indexOf(r.rank),
        start: r.start_ns!,
        end: r.start_ns! + r.elapsed,
        label: r.op,
        colour: colours.tints[types.indexOf(typeOf(r.op)) % 12] ?? colours.accent,
        lines: [
          ...(r.isSplit ? [[t("comm.transit"), duration(r.transit)] as [string, string]] : []),
          ...(r.hasWait ? [[t("comm.wait"), duration(r.wait)] as [string, string]] : []),
          [t("comm.group"), r.group],
        ],
        act: () => void find(r),
        isMarked: r === marked,
      })),
    [all, colours, marked],
  );
  if (shown.length === 0) {
    return null;
  }
  return (
    <section class="card">
      <h3>{t("comm.axis")}</h3>
      {all.length > shown.length && <p class="bad">{t("comm.cut", shown.length, all.length)}</p>}
      <div class="scroll-y">
        <SpanRows
          title={t("comm.axis")}
          rows={names.map((n) => t("comm.rank-n", n) + (n === rank ? " ◂" : ""))}
          spans={spans}
          from={from}
          to={to}
        />
      </div>
    </section>
  );
}

/** The row of these tables that tells of a slice: their times may be those of another file, so the nearest of its name. */
function rowOf(rows: TimeRow[], wanted: Ref | null): TimeRow | null {
  const rank = wanted === null ? undefined : rankOf(wanted.rank);
  if (wanted === null || rank?.origin_ns === undefined) {
    return null;
  }
  const at = Number(BigInt(rank.origin_ns) + BigInt(wanted.start));
  const own = rows.filter((r) => r.rank === rank.rank && r.op === wanted.name);
  return own.length === 0
    ? null
    : own.reduce((best, r) =>
        Math.abs(r.start_ns! - at) < Math.abs(best.start_ns! - at) ? r : best,
      );
}

/** Shows an operator of these tables in the timeline: the slice of that name at that time. */
async function find(row: TimeRow): Promise<void> {
  const rank = ranks.get().find((r) => r.rank === row.rank);
  if (rank?.origin_ns === undefined) {
    notify("warning", t("summary.not-read", row.rank));
    return;
  }
  // Epochs of these tables are doubles of microseconds: good to a quarter of one.
  const at = Math.round(row.start_ns! - Number(rank.origin_ns));
  try {
    const reply = await get<{ rows: Ref[] }>("search/list", {
      q: row.op,
      case: true,
      ranks: rank.key,
      from: at - 2000,
      to: at + 2000,
      limit: 10,
    });
    const ref = reply.rows.sort((a, b) => Math.abs(a.start - at) - Math.abs(b.start - at))[0];
    if (ref === undefined) {
      notify("warning", t("comm.not-found", row.op));
    } else {
      show(ref);
    }
  } catch (error) {
    fail(error);
  }
}

function TimeBars({
  times,
  rank,
  choose,
}: {
  times: RankTime[];
  rank: number | null;
  choose: (rank: number | null) => void;
}) {
  const colours = useColours();
  const series = [
    { name: t("comm.transit"), colour: colours.lanes[1] ?? "#808080" },
    { name: t("comm.sync"), colour: colours.lanes[2] ?? "#808080" },
    { name: t("comm.wait-rest"), colour: colours.kinds[8] ?? colours.hatch },
    { name: t("comm.idle"), colour: colours.lanes[3] ?? "#808080" },
  ];
  const lines = [
    { name: t("comm.sync-ratio"), colour: colours.ink },
    { name: t("comm.wait-ratio"), colour: colours.quiet },
  ];
  const bars = useMemo(
    () =>
      times.map((r) => ({
        label: String(r.rank),
        parts: [r.transit, r.sync, Math.max(0, r.wait - r.sync), r.idle],
        ratios: [r.syncRatio, r.waitRatio],
        isMarked: r.rank === rank,
        act: () => choose(r.rank === rank ? null : r.rank),
      })),
    [times, rank],
  );
  if (!times.some((r) => r.isSplit)) {
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
        series={series}
        lines={lines}
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
    ...(["elapsed", "transit", "synchronization", "wait", "idle"] as const).map(
      (n): Table["columns"][0] => [n, "real", "ns", false],
    ),
    ["synchronization ratio", "real", "%", false],
    ["wait ratio", "real", "%", false],
  ],
  rows: times.map((r) => [
    r.rank,
    r.elapsed,
    ...(r.isSplit
      ? [r.transit, r.sync, r.wait, r.idle]
      : [null, null, r.hasWait ? r.wait : null, null]),
    r.syncRatio === null ? null : 100 * r.syncRatio,
    r.waitRatio === null ? null : 100 * r.waitRatio,
  ]),
});
