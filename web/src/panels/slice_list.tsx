/** Slice List: statistics of what lies in the box, by name; on the right every slice of the chosen name (T-26, T-28). Sums are
 * given twice, plain and as the union of the time covered, since lanes overlap. */
import { useEffect, useState } from "preact/hooks";
import { list, type Params } from "../api/client";
import type { Rank, Table } from "../api/types";
import { useAtom } from "../base/atom";
import type { Ns } from "../base/ns";
import { duration } from "../base/time";
import { showCalls } from "../model/calls";
import { analysisSpan, box, boxLocked, ranks, shiftOf, type Box } from "../model/session";
import { shownLanes } from "../model/shown";
import { rankWord, t } from "../words";
import { Empty } from "./empty";
import { DataTable } from "./table";

/** What to ask of one rank for a box: its lanes and the span in its own time. */
export function askOf(b: Box, rank: Rank, lanes: number[]): Params {
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

/** Lanes of a box by rank; without lanes those that are shown. */
export function lanesOf(b: Box): Map<string, number[]> {
  const by = new Map<string, number[]>();
  for (const { rank, lane } of b.lanes ?? shownLanes()) {
    by.set(rank, [...(by.get(rank) ?? []), lane]);
  }
  return by;
}

type WithTotals = Table & { totals?: { wall_ns: Ns; union_ns: Ns; n: number } };

export function SliceList() {
  const b = useAtom(box);
  const all = useAtom(ranks);
  const locked = useAtom(boxLocked);
  const [name, setName] = useState<string | null>(null);
  const [key, setKey] = useState<string | null>(null);
  const [totals, setTotals] = useState<WithTotals["totals"]>(undefined);
  useEffect(() => {
    setName(null);
    setTotals(undefined);
  }, [b]);
  if (b === null) {
    return (
      <Empty title={t("list.none")}>
        <p class="quiet">{t("list.none-hint")}</p>
      </Empty>
    );
  }
  const by = lanesOf(b);
  const keys = [...by.keys()].filter((k) => all.some((r) => r.key === k && r.state === "ready"));
  const chosen = key !== null && keys.includes(key) ? key : keys[0];
  const rank = all.find((r) => r.key === chosen);
  if (rank === undefined) {
    return <Empty title={t("list.no-lanes")} />;
  }
  const params = askOf(b, rank, by.get(rank.key)!);
  return (
    <div class="slice-list">
      <div class="panel-bar">
        {keys.length > 1 && (
          <label>
            {t("list.rank")}{" "}
            <select value={chosen} onChange={(e) => setKey(e.currentTarget.value)}>
              {keys.map((k) => (
                <option key={k} value={k}>
                  {rankWord(all.find((r) => r.key === k)?.label ?? k)}
                </option>
              ))}
            </select>
          </label>
        )}
        <span>
          {t("list.span", duration(b.to - b.from))}
          {locked ? ` \u00b7 ${t("list.locked")}` : ""}
        </span>
        {totals !== undefined && (
          <span>
            {t("list.totals", totals.n, duration(totals.wall_ns), duration(totals.union_ns))}
          </span>
        )}
        <button type="button" onClick={() => analysisSpan.set({ from: b.from, to: b.to })}>
          {t("list.analyse")}
        </button>
        <button type="button" onClick={() => showCalls(rank.key, "box")}>
          {t("calls.of-box")}
        </button>
      </div>
      <div class="split">
        <DataTable
          path="stats"
          params={params}
          title=""
          onRow={(row) => setName(String(row.get("name") ?? ""))}
          isMarked={(row) => row.get("name") === name}
          onTable={(table) => setTotals((table as WithTotals).totals)}
          sort={{ column: "wall time", desc: true }}
        />
        {name !== null && (
          <DataTable path="stats" params={{ ...params, name }} title={name} rank={rank.key} />
        )}
      </div>
    </div>
  );
}
