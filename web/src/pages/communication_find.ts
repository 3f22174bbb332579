/** From the rows of communication tables to the timeline, and back. */
import { get } from "../api/client";
import type { Ref } from "../api/types";
import { fail, notify } from "../model/notices";
import { rankOf, ranks, show } from "../model/session";
import { t } from "../words";
import type { TimeRow } from "./communication_model";
import { readyRank } from "./ready_rank";

/** The row of these tables that tells of a slice: their times may be those of another file, so the nearest of its name. */
export function rowOf(rows: TimeRow[], wanted: Ref | null): TimeRow | null {
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

/** Shows an operator of these tables in the timeline: the slice of that name at that time. Its rank is read when it is not yet. */
export async function find(row: TimeRow): Promise<void> {
  const known = ranks.get().find((r) => r.rank === row.rank);
  if (known === undefined) {
    notify("warning", t("pipeline.jump-none"));
    return;
  }
  try {
    const rank = await readyRank(known.key);
    // Epochs of these tables are doubles of microseconds: good to a quarter of one.
    const at = Math.round(row.start_ns! - Number(rank.origin_ns));
    const reply = await get<{ rows: Ref[] }>("search/list", {
      q: row.op,
      case: true,
      ranks: rank.key,
      from: at - 2000,
      to: at + 2000,
      limit: 10,
    });
    const ref = reply.rows
      .filter((r) => r.name === row.op)
      .sort((a, b) => Math.abs(a.start - at) - Math.abs(b.start - at))[0];
    if (ref === undefined) {
      notify("warning", t("comm.not-found", row.op));
    } else {
      show(ref);
    }
  } catch (error) {
    fail(error);
  }
}
