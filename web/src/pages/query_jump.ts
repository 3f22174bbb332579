/** From a row of a query to the timeline: to the slice that it names, else to its moment on its rank. */
import { get } from "../api/client";
import type { Cell, Rank, Ref } from "../api/types";
import { fail } from "../model/notices";
import { goto, ranks, shiftOf, show, tab } from "../model/session";
import type { Column } from "../panels/table_model";
import { readyRank } from "./ready_rank";

/** What of a row says where it is. */
export interface RowPlace {
  rank: Rank;
  slice: number | null;
  /** ns since 1970. */
  from: bigint | null;
  to: bigint | null;
}

const cellOf = (row: Cell[], columns: Column[], name: string): Cell => {
  const column = columns.find((c) => c.name === name);
  return column === undefined ? null : (row[column.index] ?? null);
};

/** The rank of a row, of those of the cluster: by its profile, by its number where one has it; without either the only one there is. */
export function rankOfRow(
  row: Cell[],
  columns: Column[],
  cluster: number,
  all: readonly Rank[],
): Rank | null {
  const own = all.filter((r) => r.cluster === cluster);
  const profile = cellOf(row, columns, "profile");
  const rank = cellOf(row, columns, "rank");
  const fit =
    profile !== null
      ? own.filter((r) => r.profile === profile)
      : rank !== null
        ? own.filter((r) => r.rank === rank)
        : own;
  return fit.length === 1 ? fit[0] : null;
}

const isSliceColumn = (column: Column): boolean => column.isSlice || column.name === "slice";

/** Some rows of such columns may lead to the timeline. */
export const mayJump = (columns: Column[]): boolean =>
  columns.some((c) => isSliceColumn(c) || c.isMoment);

const bigOf = (cell: Cell): bigint | null =>
  cell === null || !/^-?\d+$/.test(String(cell)) ? null : BigInt(cell);

export function placeOf(
  row: Cell[],
  columns: Column[],
  cluster: number,
  all: readonly Rank[],
): RowPlace | null {
  const rank = rankOfRow(row, columns, cluster, all);
  const slice = columns.filter(isSliceColumn).find((c) => typeof row[c.index] === "number");
  const moments = columns
    .filter((c) => c.isMoment)
    .map((c) => bigOf(row[c.index] ?? null))
    .filter((m) => m !== null);
  if (rank === null || (slice === undefined && moments.length === 0)) {
    return null;
  }
  const from = moments[0] ?? null;
  const length = bigOf(cellOf(row, columns, "dur_ns") ?? cellOf(row, columns, "duration_ns"));
  const to = moments.find((m) => from !== null && m > from) ?? null;
  return {
    rank,
    slice: slice === undefined ? null : Number(row[slice.index]),
    from,
    to: to ?? (from !== null && length !== null && length > 0n ? from + length : from),
  };
}

/** Goes there. A rank that is not read yet is asked for. */
export async function goTo({ rank, slice, from, to }: RowPlace): Promise<void> {
  try {
    const ready = await readyRank(rank.key);
    if (slice !== null) {
      show(await get<Ref>("slice", { rank: rank.key, slice }));
    } else if (from !== null && to !== null) {
      const shift = shiftOf(ready);
      const at = (moment: bigint): number => Number(moment - BigInt(ready.origin_ns!)) + shift;
      goto.set({
        span: { from: at(from), to: Math.max(at(to), at(from) + 1000) },
        rank: rank.key,
      });
      tab.set("timeline");
    }
  } catch (error) {
    fail(error);
  }
}

export const jumpRow = (row: Cell[], columns: Column[], cluster: number): RowPlace | null =>
  placeOf(row, columns, cluster, ranks.get());
