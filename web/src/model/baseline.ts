/** The capture that the one looked at is compared with: on every page that has tables, and on the page of comparisons. The address
 * holds it. */
import type { Rank, Session } from "../api/types";
import { Atom, useAtom } from "../base/atom";
import { isOpen } from "./captures";
import { ranks, session } from "./session";
import { urlChanged, type UrlPart } from "./url_state";

/** Its number among those that are served; "told": the one that the server was told, if any; "none": the user wants none. */
export type Baseline = number | "told" | "none";
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

/** The rank of the same number in the baseline; null: none is open, or `rank` is of it, or it has no such rank. */
export const partnerOf = (known: readonly Rank[], rank: Rank, base: number | null): Rank | null =>
  base === null || rank.cluster === base
    ? null
    : (known.find((r) => r.cluster === base && r.rank === rank.rank) ?? null);

/** The baseline of what is looked at, of cluster `now`. */
export function useBaseline(now: number): number | null {
  const base = baselineOf(useAtom(session), useAtom(baseline));
  return base === now ? null : base;
}

export function usePartner(rank: Rank | null): Rank | null {
  const base = baselineOf(useAtom(session), useAtom(baseline));
  const known = useAtom(ranks);
  return rank === null ? null : partnerOf(known, rank, base);
}

export const baselineUrl: UrlPart = {
  prefix: "base",
  read: () => (baseline.get() === "told" ? {} : { n: String(baseline.get()) }),
  write: ({ n }) =>
    baseline.set(n === "none" ? "none" : /^\d+$/.test(n ?? "") ? Number(n) : "told"),
};
