/** Slice List: statistics of what lies in the box, by name; on the right every slice of the chosen name (T-26, T-28). Sums are
 * given twice, plain and as the union of the time covered, since lanes overlap. */
import { useEffect, useRef, useState } from "preact/hooks";
import { list, type Params } from "../api/client";
import type { Rank, Table } from "../api/types";
import { useAtom } from "../base/atom";
import type { Ns } from "../base/ns";
import { duration } from "../base/time";
import { showCalls } from "../model/calls";
import { box, boxLocked, ranks, shiftOf, type Box } from "../model/session";
import { analyse, bottomHeight } from "../model/timeline";
import { laidOut, tree, wantAllLanes } from "../model/tree";
import { lanesCrossed } from "../model/boxes";
import { rankWord, sliceWord, t } from "../words";
import { Empty } from "./empty";
import { RankGate } from "./rank_gate";
import { Thinned } from "./thinned";
import { DataTable } from "./table";

/** What to ask of one rank for a box: its lanes and the span in its own time. */
export function askOf(b: Box, rank: Rank, lanes: number[]): Params & { from: Ns; to: Ns } {
  const shift = shiftOf(rank);
  const rows =
    b.lanes
      ?.filter((l) => l.rank === rank.key && l.rows !== null)
      .map((l) => `${l.lane}:${l.rows![0]}-${l.rows![1] - 1}`) ?? [];
  return {
    rank: rank.key,
    lanes: list(lanes),
    from: Math.round(b.from - shift),
    to: Math.round(b.to - shift),
    ...(rows.length > 0 ? { rows: rows.join(",") } : {}),
  };
}

/** Lanes of a box by rank. One without lanes crosses all that is shown, and what is closed stands for all below it, as under a drag. */
export function lanesOf(b: Box): Map<string, number[]> {
  const by = new Map<string, number[]>();
  for (const { rank, lane } of b.lanes ?? lanesCrossed(tree.items, 0, 0, tree.height, false)) {
    by.set(rank, [...(by.get(rank) ?? []), lane]);
  }
  return by;
}

type WithTotals = Table & { totals?: { wall_ns: Ns; work_ns: Ns; n: number } };

/** Its slices stand for time without work: none of them ran. */
const isFree = ({ wall_ns, work_ns }: NonNullable<WithTotals["totals"]>): boolean =>
  work_ns === 0 && wall_ns > 0;

export function SliceList() {
  const b = useAtom(box);
  const all = useAtom(ranks);
  const [key, setKey] = useState<string | null>(null);
  useAtom(laidOut);
  const isOverAll = b !== null && b.lanes === null;
  useEffect(() => {
    if (isOverAll) {
      void wantAllLanes(); // also of closed ranks that were in sight never
    }
  }, [isOverAll, all]);
  if (b === null) {
    return (
      <Empty title={t("list.none")}>
        <p class="quiet">{t("list.none-hint")}</p>
      </Empty>
    );
  }
  const by = lanesOf(b);
  const boxed = all.filter((r) => by.has(r.key));
  const rank =
    boxed.find((r) => r.key === key) ?? boxed.find((r) => r.state === "ready") ?? boxed[0];
  if (rank === undefined) {
    return <Empty title={t("list.no-lanes")} />;
  }
  return (
    <RankGate rank={rank}>
      <Boxed b={b} rank={rank} boxed={boxed} lanes={by.get(rank.key)!} setRank={setKey} />
    </RankGate>
  );
}

interface BoxedProps {
  b: Box;
  rank: Rank;
  /** All that have lanes in the box. */
  boxed: Rank[];
  lanes: number[];
  setRank: (key: string) => void;
}

/** Where the two tables stand under one another the panel grows until both have rows; where there is no more room what was asked for comes
 * into sight. */
function makeRoom(tables: HTMLElement): void {
  const lacks = tables.scrollHeight - tables.clientHeight;
  if (lacks > 0) {
    bottomHeight.update((now) => Math.max(now, Math.min(now + lacks, innerHeight / 2)));
  }
  // Once the panel has its new height.
  requestAnimationFrame(() => tables.lastElementChild?.scrollIntoView({ block: "nearest" }));
}

/** What of one rank lies in the box. */
function Boxed({ b, rank, boxed, lanes, setRank }: BoxedProps) {
  const locked = useAtom(boxLocked);
  const [name, setName] = useState<string | null>(null);
  const [totals, setTotals] = useState<WithTotals["totals"]>(undefined);
  useEffect(() => {
    setName(null);
    setCame(null);
    setTotals(undefined);
  }, [b]);
  const tables = useRef<HTMLDivElement>(null);
  // Its height is known once rows are there.
  const [came, setCame] = useState<string | null>(null);
  useEffect(() => {
    if (came !== null && tables.current !== null) {
      makeRoom(tables.current);
    }
  }, [came]);
  const params = askOf(b, rank, lanes);
  return (
    <div class="slice-list">
      <div class="panel-bar">
        {boxed.length === 1 && ranks.get().length > 1 && <b>{rankWord(rank.label)}</b>}
        {boxed.length > 1 && (
          <label>
            {t("list.rank")}{" "}
            <select value={rank.key} onChange={(e) => setRank(e.currentTarget.value)}>
              {boxed.map((r) => (
                <option key={r.key} value={r.key}>
                  {rankWord(r.label)}
                </option>
              ))}
            </select>
          </label>
        )}
        <span>
          {t("list.span", duration(b.to - b.from))}
          {locked ? ` \u00b7 ${t("list.locked")}` : ""}
        </span>
        {totals !== undefined && isFree(totals) && (
          <span title={t("list.idle-hint")}>
            {t("list.free", totals.n, duration(totals.wall_ns))}
          </span>
        )}
        {totals !== undefined && !isFree(totals) && (
          <>
            <span>
              {t("list.totals", totals.n, duration(totals.wall_ns), duration(totals.work_ns))}
            </span>
            <span title={t("list.idle-hint")}>
              {t("list.idle", duration(params.to - params.from - totals.work_ns))}
            </span>
          </>
        )}
        <button type="button" onClick={() => analyse(b)}>
          {t("list.analyse")}
        </button>
        <button type="button" onClick={() => showCalls(rank.key, "box")}>
          {t("calls.of-box")}
        </button>
      </div>
      <Thinned ranks={[rank]} />
      <div class="split" ref={tables}>
        <DataTable
          path="stats"
          params={params}
          title={t("list.names")}
          onRow={(row) => setName(String(row.get("name") ?? ""))}
          isMarked={(row) => row.get("name") === name}
          onTable={(table) => setTotals((table as WithTotals).totals)}
          sort={{ column: "wall time", desc: true }}
        />
        {name !== null && (
          <DataTable
            path="stats"
            params={{ ...params, name }}
            title={sliceWord(name)}
            onTable={() => setCame(name)}
            rank={rank.key}
          />
        )}
      </div>
    </div>
  );
}
