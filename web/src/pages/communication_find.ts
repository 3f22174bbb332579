/** From the rows of communication tables to the timeline, and back. */
import { get } from "../api/client";
import type { Ref } from "../api/types";
import { fail, notify } from "../model/notices";
import { rankOf, ranks, show } from "../model/session";
import { t } from "../words";
import { opAt, type Times } from "./communication_times_model";
import { readyRank } from "./ready_rank";

/** The row of these tables that tells of a slice, -1 where none does: their times may be those of another file, so the nearest of its
 * name. */
export function rowOf(times: Times, rows: readonly number[], wanted: Ref | null): number {
  const rank = wanted === null ? undefined : rankOf(wanted.rank);
  if (wanted === null || rank?.origin_ns === undefined) {
    return -1;
  }
  const at = Number(BigInt(rank.origin_ns) + BigInt(wanted.start));
  const op = times.ops.words.indexOf(wanted.name);
  const offBy = (row: number): number => Math.abs(times.start[row] - at);
  let best = -1;
  for (const row of rows) {
    const isOwn = times.ops.at[row] === op && times.rank[row] === rank.rank;
    if (isOwn && (best < 0 || offBy(row) < offBy(best))) {
      best = row;
    }
  }
  return best;
}

/** Shows an operator of these tables in the timeline: the slice of that name at that time. Its rank is read when it is not yet. */
export async function find(times: Times, row: number): Promise<void> {
  const op = opAt(times, row);
  const known = ranks.get().find((r) => r.rank === times.rank[row]);
  if (known === undefined) {
    notify("warning", t("pipeline.jump-none"));
    return;
  }
  try {
    const rank = await readyRank(known.key);
    // Epochs of these tables are doubles of microseconds: good to a quarter of one.
    const at = Math.round(times.start[row] - Number(rank.origin_ns));
    const reply = await get<{ rows: Ref[] }>("search/list", {
      q: op,
      case: true,
      ranks: rank.key,
      from: at - 2000,
      to: at + 2000,
      limit: 10,
    });
    const ref = reply.rows
      .filter((r) => r.name === op)
      .sort((a, b) => Math.abs(a.start - at) - Math.abs(b.start - at))[0];
    if (ref === undefined) {
      notify("warning", t("comm.not-found", op));
    } else {
      show(ref);
    }
  } catch (error) {
    fail(error);
  }
}
