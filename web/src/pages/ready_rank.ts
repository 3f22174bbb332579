/** Ranks that a page leads to or is about, and that may not have been read yet. */
import { useEffect, useState } from "preact/hooks";
import type { Rank } from "../api/types";
import { lowerUnless, notify } from "../model/notices";
import { load, rankOf, ranks } from "../model/session";
import { rankWord, t } from "../words";

/** The rank when it is ready; asks for it when it is not. */
export function readyRank(key: string): Promise<Rank> {
  return new Promise((done, give) => {
    const check = (): boolean => {
      const rank = rankOf(key);
      if (rank?.state === "ready") {
        done(rank);
      } else if (rank === undefined || rank.state === "failed") {
        give(new Error(rank?.error ?? t("pipeline.jump-none")));
      } else {
        return false;
      }
      return true;
    };
    if (check()) {
      return;
    }
    const note = notify("info", t("pipeline.jump-load", rankWord(rankOf(key)!.label)));
    lowerUnless(note, () => ["queued", "reading"].includes(rankOf(key)?.state ?? ""), [ranks]);
    void load([key]).catch(give);
    const stop = ranks.listen(() => check() && stop());
  });
}

/** Those of one capture: what is of it reads no others. */
export const ranksIn = (all: readonly Rank[], capture: number): Rank[] =>
  all.filter((r) => r.cluster === capture);

/** Whether what goes through ranks is worked out: when asked for where more than `most` of them are not read, and from then on. */
export function useAsked(
  most: number,
  of: readonly Rank[],
): { isAsked: boolean; unread: number; ask: () => void } {
  const unread = of.filter((r) => r.state !== "ready").length;
  const isFew = unread <= most;
  const [wanted, setWanted] = useState(isFew);
  const ask = (): void => setWanted(true);
  useEffect(() => {
    if (isFew) {
      ask();
    }
  }, [isFew]);
  return { isAsked: wanted || isFew, unread, ask };
}
