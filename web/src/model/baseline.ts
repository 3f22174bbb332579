/** What the capture looked at is compared with: another capture, on every page that has tables and on the page of comparisons; on pages of one
 * rank also another rank of the same. The address holds it. */
import type { Rank, Session } from "../api/types";
import { Atom, useAtom } from "../base/atom";
import { isOpen } from "./captures";
import { ranks, session } from "./session";
import { urlChanged, type UrlPart } from "./url_state";

/** Its number among those that are served; "told": the one that the server was told, if any; "none": the user wants none; "rank:N": that rank of
 * the capture looked at. */
export type Baseline = number | "told" | "none" | RankBeside;
export type RankBeside = `rank:${number}`;
const RANK_BESIDE = /^rank:(\d+)$/;
export const baseline = new Atom<Baseline>("told");

export function chooseBaseline(which: Baseline): void {
  baseline.set(which);
  urlChanged();
}

/** Its number while it is open, else null. */
export function baselineOf(opened: Session | null, which: Baseline): number | null {
  const number = which === "told" ? opened?.baseline : which;
  return typeof number === "number" && isOpen(opened, number) ? number : null;
}

/** The number of the rank that stands beside the others of its capture; null: it is no rank. */
export function rankBeside(which: Baseline): number | null {
  const found = RANK_BESIDE.exec(String(which));
  return found === null ? null : Number(found[1]);
}

/** What stands beside `rank`: the rank of the same number in the baseline, or the rank that was chosen; null: there is none, or it is `rank`
 * itself. */
export function partnerOf(
  known: readonly Rank[],
  rank: Rank,
  opened: Session | null,
  which: Baseline,
): Rank | null {
  const number = rankBeside(which);
  const cluster = number === null ? baselineOf(opened, which) : rank.cluster;
  const isOther = number === null ? cluster !== rank.cluster : number !== rank.rank;
  return cluster === null || !isOther
    ? null
    : (known.find((r) => r.cluster === cluster && r.rank === (number ?? rank.rank)) ?? null);
}

/** The baseline of what is looked at, of cluster `now`. */
export function useBaseline(now: number): number | null {
  const base = baselineOf(useAtom(session), useAtom(baseline));
  return base === now ? null : base;
}

export function usePartner(rank: Rank | null): Rank | null {
  const opened = useAtom(session);
  const which = useAtom(baseline);
  const known = useAtom(ranks);
  return rank === null ? null : partnerOf(known, rank, opened, which);
}

/** As the address, and choices, write it. */
export const baselineFrom = (text: string): Baseline =>
  text === "none" || RANK_BESIDE.test(text)
    ? (text as Baseline)
    : /^\d+$/.test(text)
      ? Number(text)
      : "told";

export const baselineUrl: UrlPart = {
  prefix: "base",
  read: () => (baseline.get() === "told" ? {} : { n: String(baseline.get()) }),
  write: ({ n }) => baseline.set(baselineFrom(n ?? "")),
};
