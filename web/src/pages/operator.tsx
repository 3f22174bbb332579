/** The Operator page: computing and communication operators of one rank by type, name or shape; every one of them below. */
import { useEffect, useMemo } from "preact/hooks";
import { registerUrl, urlChanged } from "../model/url_state";
import { get } from "../api/client";
import type { Rank, Table } from "../api/types";
import { Atom, useAtom } from "../base/atom";
import { timesAs, valueText } from "../base/format";
import { baseline, baselineOf } from "../model/baseline";
import { ranks, session } from "../model/session";
import { RankedBars, type RankedBar } from "../panels/chart";
import { Empty, Failed, Loading } from "../panels/empty";
import { RankPicker, Segments, Select, useRank } from "../panels/form";
import { DataTable, type TableRow } from "../panels/table";
import { exactly } from "../panels/table_model";
import { keepTableState, tableStates } from "../panels/table_state";
import { useColours } from "../panels/drawing";
import { t, type Word } from "../words";
import type { Pairing } from "./beside";
import { BaselinePicker, BesideTable } from "./beside_table";
import { pairsOf } from "./compare_model";
import { nsReader, reader, useReply, wholeTable } from "./data";
import { RankGate } from "../panels/rank_gate";
import { Thinned } from "../panels/thinned";
import { readyRank } from "./ready_rank";

/** By what is grouped: the view, its words, and the column of a group with the column of the details it stands in. */
const GROUPS = {
  types: {
    view: "operator_types",
    word: "operator.by-type",
    keys: [
      ["type", "type"],
      ["core", "core"],
    ],
  },
  names: { view: "operator_names", word: "operator.by-name", keys: [["name", "name"]] },
  shapes: {
    view: "operator_shapes",
    word: "operator.by-shape",
    keys: [
      ["name", "name"],
      ["shapes", "input shapes"],
    ],
  },
  comm_names: { view: "communication_names", word: "operator.comm-name", keys: [["name", "name"]] },
  comm_types: { view: "communication_types", word: "operator.comm-type", keys: [["type", "type"]] },
} as const satisfies Record<
  string,
  { view: string; word: Word; keys: readonly (readonly [string, string])[] }
>;

/** The same columns in all of these tables. */
const SUMS = ["total", "number"];
const pairingOf = (by: GroupBy): Pairing => ({
  keys: GROUPS[by].keys.map(([key]) => key),
  sums: SUMS,
});

/** Communication operators are numbered anew in each capture. */
const BY_COMM_TYPE = {
  view: GROUPS.comm_types.view,
  pairing: pairingOf("comm_types"),
  text: "beside.by-type",
} as const;

const DETAIL_SORT = { column: "duration", desc: true };
const FRESH = { sort: DETAIL_SORT, filter: {} };
type GroupBy = keyof typeof GROUPS;
const TOPS = ["5", "15", "50", "100", "all"] as const;
/** "all", or how many; any number can be typed. */
type Top = string;

export const isTop = (text: string | undefined): text is Top =>
  text === "all" || /^[1-9]\d{0,5}$/.test(text ?? "");

interface State {
  rank: string;
  /** "": nobody has chosen. */
  by: GroupBy | "";
  top: Top;
}

const state = new Atom<State>({ rank: "", by: "", top: "15" });

const part = {
  prefix: "op",
  read: (): Record<string, string> => {
    const { rank, by, top } = state.get();
    return {
      ...(rank === "" ? {} : { rank }),
      ...(by === "" ? {} : { by }),
      ...(top === "15" ? {} : { top }),
    };
  },
  write: (from: Record<string, string>): void =>
    state.set({
      rank: from.rank ?? "",
      by: from.by !== undefined && from.by in GROUPS ? (from.by as GroupBy) : "",
      top: isTop(from.top) ? from.top : "15",
    }),
};

/** So many ranks are looked into. */
const MOST_TRIED = 16;

/** Where nobody has chosen a rank, beside a baseline: the first that has operators in both captures; "": none, or not known yet. */
function useFirstBoth(isWanted: boolean, view: string): string {
  const known = useAtom(ranks);
  const opened = useAtom(session);
  const base = baselineOf(opened, useAtom(baseline));
  const now = known.find((r) => r.cluster !== base)?.cluster;
  const pairs =
    !isWanted || base === null || now === undefined
      ? []
      : pairsOf(known, now, base)
          .filter((p) => p.now.state !== "failed" && p.base.state !== "failed")
          .slice(0, MOST_TRIED);
  const key = pairs.map((p) => `${p.now.key},${p.base.key}`).join(";");
  const first = async (signal: AbortSignal): Promise<string> => {
    const has = async (of: Rank): Promise<boolean> => {
      await readyRank(of.key);
      const params = { name: view, rank: of.key, limit: 1 };
      return (await get<Table>("view", params, signal)).total > 0;
    };
    for (const pair of pairs) {
      const found = await Promise.all([pair.now, pair.base].map(has)).catch(() => [false]);
      if (found.every(Boolean)) {
        return pair.now.key;
      }
    }
    return "";
  };
  const reply = useReply(`${key} ${view}`, pairs.length === 0 ? null : first);
  return pairs.length === 0 ? "" : (reply.data ?? "");
}

/** Where nobody has chosen a grouping: that of computing, or of communication where a rank has that alone. */
function useFirstGroup(isWanted: boolean, rank: Rank | null): GroupBy {
  const first = async (signal: AbortSignal): Promise<GroupBy> => {
    const has = (by: GroupBy): Promise<boolean> =>
      get<Table>("view", { name: GROUPS[by].view, rank: rank!.key, limit: 1 }, signal).then(
        () => true,
        () => false,
      );
    return (await has("types")) || !(await has("comm_names")) ? "types" : "comm_names";
  };
  const isAsked = isWanted && rank?.state === "ready";
  const reply = useReply(`group ${rank?.key ?? ""}`, isAsked ? first : null);
  return isAsked ? (reply.data ?? "types") : "types";
}

export function OperatorPage() {
  const { rank: key, by: chosen, top } = useAtom(state);
  const both = useFirstBoth(key === "", GROUPS[chosen === "" ? "types" : chosen].view);
  const rank = useRank(key === "" ? both : key);
  const first = useFirstGroup(chosen === "", rank);
  const by = chosen === "" ? first : chosen;
  useEffect(() => registerUrl(part), []);
  const change = (to: Partial<State>): void => {
    state.set({ ...state.get(), ...to });
    urlChanged();
  };
  const isComm = by === "comm_names" || by === "comm_types";
  return (
    <main class="page">
      <div class="controls-row">
        <RankPicker rank={rank} onChange={(next) => change({ rank: next })} />
        {rank !== null && <BaselinePicker now={rank.cluster} rank={rank} />}
        <Select
          label={t("operator.group-by")}
          value={by}
          options={(Object.keys(GROUPS) as GroupBy[]).map((g) => [g, t(GROUPS[g].word)] as const)}
          onChange={(next) => (keepTableState("operators", FRESH, FRESH), change({ by: next }))}
        />
        <span class="quiet">{t("operator.top")}</span>
        <Segments
          label={t("operator.top")}
          value={top}
          options={TOPS.map((n): [Top, string] => [n, n === "all" ? t("operator.all") : n])}
          onChange={(next) => change({ top: next })}
        />
        <input
          type="number"
          class="short"
          min={1}
          aria-label={t("operator.top-other")}
          placeholder={t("operator.top-other")}
          value={TOPS.some((n) => n === top) ? "" : top}
          onChange={(e) => isTop(e.currentTarget.value) && change({ top: e.currentTarget.value })}
        />
      </div>
      <RankGate rank={rank}>
        {rank !== null && <Thinned ranks={[rank]} />}
        {rank !== null && (
          <Operators key={`${rank.key} ${by}`} of={rank} by={by} top={top} isComm={isComm} />
        )}
      </RankGate>
    </main>
  );
}

function Operators({ of, by, top, isComm }: { of: Rank; by: GroupBy; top: Top; isComm: boolean }) {
  const rank = of.key;
  const group = GROUPS[by];
  const pairing = useMemo(() => pairingOf(by), [by]);
  // What is chosen above is the filter of the table below: the address remembers it with the table.
  const filter = useAtom(tableStates).operators?.filter ?? {};
  const filterFor = (row: TableRow): Record<string, string> => {
    const texts = group.keys.map(([from, to]) => [to, String(row.get(from) ?? "")] as const);
    return texts.every(([, text]) => text === "")
      ? {}
      : Object.fromEntries(texts.map(([to, text]) => [to, exactly(text)]));
  };
  const isChosen = (row: TableRow): boolean => {
    const own = filterFor(row);
    return (
      Object.keys(own).length > 0 &&
      group.keys.every(([, to]) => (filter[to] ?? "") === (own[to] ?? ""))
    );
  };
  const choose = (row: TableRow): void =>
    keepTableState(
      "operators",
      { sort: DETAIL_SORT, filter: isChosen(row) ? {} : filterFor(row) },
      FRESH,
    );
  const details = isComm ? "communication_operators" : "operator_details";
  return (
    <>
      <div class={isComm ? "" : "columns-2"}>
        <Shares
          rank={rank}
          view={group.view}
          top={top}
          keys={group.keys.map(([from]) => from)}
          title={t(group.word)}
        />
        {!isComm && (
          <Shares
            rank={rank}
            view="operator_cores"
            top="all"
            keys={["core"]}
            title={t("operator.by-core")}
          />
        )}
      </div>
      <div class="card flush">
        <BesideTable
          of={of}
          view={group.view}
          pairing={pairing}
          {...(by === "comm_names" ? { otherwise: BY_COMM_TYPE } : {})}
          lead={["total"]}
          urlKey="groups"
          maxRows={10}
          bars={{ total: "--computing" }}
          onRow={choose}
          isMarked={isChosen}
        />
      </div>
      <div class="card flush grows">
        <DataTable
          path="view"
          params={{ name: details, rank }}
          urlKey="operators"
          sort={DETAIL_SORT}
        />
      </div>
    </>
  );
}

/** Shares of the time, sorted: the first `top` and the rest. */
function Shares({
  rank,
  view,
  top,
  keys,
  title,
}: {
  rank: string;
  view: string;
  top: Top;
  keys: string[];
  title: string;
}) {
  const reply = useReply(`${rank} ${view}`, (signal) =>
    wholeTable("view", { name: view, rank }, null, signal),
  );
  const colours = useColours();
  return (
    <section class="card">
      <h3>{title}</h3>
      {reply.error !== null ? (
        <Failed error={reply.error} retry={reply.retry} />
      ) : reply.data === null ? (
        <Loading />
      ) : reply.data.rows.length === 0 ? (
        <Empty title={t("table.none")} />
      ) : (
        <div class="scroll-y">
          <RankedBars
            title={title}
            bars={barsOf(reply.data, keys, top, colours.lanes, colours.hatch)}
            label={t("operator.total")}
          />
        </div>
      )}
    </section>
  );
}

export function barsOf(
  table: Table,
  keys: string[],
  top: Top,
  lanes: string[],
  rest: string,
): RankedBar[] {
  const total = nsReader(table, "total");
  const labels = keys.map((key) => reader(table, key));
  const all = table.rows
    .map((row) => ({
      label: labels
        .map((read) => read(row))
        .filter((c) => c !== null)
        .join(" · "),
      value: total(row) ?? 0,
    }))
    .sort((a, b) => b.value - a.value);
  const sum = all.reduce((s, b) => s + b.value, 0);
  const n = top === "all" ? all.length : Number(top);
  const others = all.slice(n);
  const restNs = others.reduce((s, b) => s + b.value, 0);
  const time = timesAs([...all.slice(0, n).map((b) => b.value), restNs]);
  const bar = (label: string, value: number, colour: string): RankedBar => ({
    label: label === "" ? "–" : label,
    value,
    text: `${valueText(value, time)} ${time.unit}`,
    share: sum > 0 ? value / sum : 0,
    colour,
  });
  const isComm = table.name.includes("communication");
  const shown = all
    .slice(0, n)
    .map((b) => bar(b.label, b.value, lanes[isComm ? 1 : 0] ?? "#808080"));
  return others.length === 0
    ? shown
    : [...shown, bar(t("operator.others", others.length), restNs, rest)];
}
