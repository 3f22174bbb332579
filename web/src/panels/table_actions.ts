/** What leaves a table: the way to the timeline, rows in the clipboard. */
import { get } from "../api/client";
import type { Cell, Ref } from "../api/types";
import { grouped } from "../base/format";
import { fail, notify } from "../model/notices";
import { rankOf, ranks, show } from "../model/session";
import { showWhole } from "../model/timeline";
import { t } from "../words";
import { tabbedOf, type Column } from "./table_model";
import type { TableRow } from "./table_options";

/** Most rows that go to the clipboard. */
export const MAX_COPIED = 20_000;

/** Leads to the slice of a row, `isWhole`: from afar (showWhole). `rank` of a row may be its key or its number. */
export async function jumpTo(
  row: TableRow,
  fallback: string | undefined,
  isWhole = false,
): Promise<void> {
  const slice = row.get("slice");
  if (slice === null) {
    return;
  }
  const named = row.get("rank") ?? row.get("Rank");
  const known =
    named === null
      ? undefined
      : (rankOf(String(named)) ??
        ranks.get().find((r) => r.label === String(named) || String(r.rank) === String(named)));
  const rank = known?.key ?? fallback;
  if (rank !== undefined) {
    try {
      const ref = await get<Ref>("slice", { rank, slice: Number(slice) });
      (isWhole ? showWhole : show)(ref);
    } catch (error) {
      fail(error);
    }
  }
}

/** `total`: how many there would be. */
export async function copyRows(
  rows: Promise<Cell[][]>,
  columns: Column[],
  total: number,
): Promise<void> {
  const names = columns.map((c) => (c.unit === "" ? c.name : `${c.name} (${c.unit})`));
  try {
    const all = await rows;
    const shown = all.map((r) => columns.map((c) => r[c.index] ?? null));
    await navigator.clipboard.writeText(tabbedOf(names, shown));
    notify(
      "info",
      all.length < total
        ? t("table.copied-some", grouped(String(all.length)), grouped(String(total)))
        : t("table.copied", grouped(String(all.length))),
    );
  } catch (error) {
    fail(error);
  }
}
