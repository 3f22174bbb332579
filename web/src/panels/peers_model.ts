/** Whom a communication operator deals with beyond the ranks that are read. */
import type { Collective, Flow, FlowsOf, OwnEnd, Rank, Ref } from "../api/types";
import { duration } from "../base/time";
import { t } from "../words";

/** A send or a receive whose other end is in no rank that is read. */
export const isPartnerUnread = (reply: FlowsOf): boolean =>
  typeof reply.own?.sends === "boolean" && !reply.flows.some((f) => f.kind === "send-recv");

/** The rank of the capture at the other end of a send or receive; null: not captured, or not known. */
export const partnerOf = (own: OwnEnd, ranks: readonly Rank[]): Rank | null =>
  own.peer === null ? null : (ranks.find((r) => r.rank === own.peer) ?? null);

const isOne = (a: Pick<Ref, "rank" | "slice">, b: Pick<Ref, "rank" | "slice">): boolean =>
  a.rank === b.rank && a.slice === b.slice;

/** How long an operator waited for `other`, its sender or who came last; undefined: it did not wait for that one. */
export function waitFor(
  own: Pick<Ref, "rank" | "slice">,
  other: Ref,
  flows: readonly Flow[],
): string | undefined {
  const flow = flows.find((f) => isOne(f.to, own) && isOne(f.from, other));
  return flow === undefined ? undefined : waitWords(flow, "detail.waited-for");
}

/** How long the receiving end of a flow waited, where that is known. */
export const waitWords = (
  flow: Flow,
  word: "detail.waited" | "detail.waited-for" = "detail.waited",
): string =>
  flow.waited_ns === undefined ? t("detail.wait-unknown") : t(word, duration(flow.waited_ns));

/** "2 of 8 captured"; "2 of 8 read" where others of the capture are still to be read. */
export function membersText(met: Collective, ranks: readonly Rank[]): string {
  const isAllRead = ranks.every((r) => r.state === "ready" || r.state === "failed");
  if (met.group_size === null) {
    return t("detail.ranks-unknown", met.n);
  }
  return met.n >= met.group_size
    ? String(met.n)
    : t(isAllRead ? "detail.ranks-captured" : "detail.ranks-read", met.n, met.group_size);
}
