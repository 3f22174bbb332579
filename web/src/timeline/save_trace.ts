/** A part of a rank as a trace file, which this program and other viewers open: what the box selects, else the window. */
import { getText, list } from "../api/client";
import { saveAs } from "../model/exports";
import { fail, notify } from "../model/notices";
import { box, rankOf, ranks, selected, shiftOf } from "../model/session";
import { viewport } from "../model/timeline";
import { t } from "../words";

/** Files at once: a box over more ranks saves the first ones. */
const MOST_FILES = 8;

interface Part {
  rank: string;
  lanes: number[];
}

/** Ranks of the box with its lanes; without lanes the rank of the selected slice, else the first one that is ready. */
function parts(): Part[] {
  const lanes = box.get()?.lanes ?? null;
  if (lanes !== null && lanes.length > 0) {
    return [...new Set(lanes.map((l) => l.rank))].map((rank) => ({
      rank,
      lanes: lanes.filter((l) => l.rank === rank).map((l) => l.lane),
    }));
  }
  const rank = selected.get()?.rank ?? ranks.get().find((r) => r.state === "ready")?.key;
  return rank === undefined ? [] : [{ rank, lanes: [] }];
}

export async function saveTrace(): Promise<void> {
  const span = box.get() ?? { from: viewport.from, to: viewport.to };
  const all = parts();
  if (all.length > MOST_FILES) {
    notify("warning", t("timeline.save-first", MOST_FILES, all.length));
  }
  try {
    for (const part of all.slice(0, MOST_FILES)) {
      const rank = rankOf(part.rank);
      if (rank !== undefined) {
        const shift = shiftOf(rank);
        const text = await getText("export", {
          rank: part.rank,
          from: Math.floor(span.from - shift),
          to: Math.ceil(span.to - shift),
          lanes: part.lanes.length > 0 ? list(part.lanes) : undefined,
        });
        saveAs(
          `${rank.label} ${Math.floor(span.from - shift)}-${Math.ceil(span.to - shift)}`,
          "json",
          text,
        );
      }
    }
  } catch (error) {
    fail(error);
  }
}
