/** What the ranks that are read say of the capture. */
import type { Rank } from "../api/types";

export interface CaptureFacts {
  /** Ranks that are in memory: the rest is told of these alone. */
  ready: number;
  hosts: number;
  /** Epoch ns of the first event. */
  start: bigint;
  /** ns in which something was recorded: of captures at different times not what lies between them. */
  covered: bigint;
  slices: number;
}

/** How many hosts the job has: as the files of all ranks say (null: they do not), else as far as the ranks that are read do. */
export function hostsOf(
  told: number | null,
  facts: CaptureFacts,
  nRanks: number,
): { n: number; isOfAll: boolean } {
  return told !== null && told >= facts.hosts
    ? { n: told, isOfAll: true }
    : { n: facts.hosts, isOfAll: facts.ready >= nRanks };
}

/** The length of the union of spans. */
export function coveredBy(spans: readonly (readonly [bigint, bigint])[]): bigint {
  const sorted = [...spans].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  let sum = 0n;
  let end: bigint | null = null;
  for (const [from, to] of sorted) {
    const begin: bigint = end === null || from > end ? from : end;
    if (to > begin) {
      sum += to - begin;
      end = to;
    }
  }
  return sum;
}

export function captureFacts(ranks: readonly Rank[]): CaptureFacts {
  const ready = ranks.filter((r) => r.origin_ns !== undefined);
  const spans = ready.map((r): [bigint, bigint] => [
    BigInt(r.origin_ns!) + BigInt(r.start ?? 0),
    BigInt(r.origin_ns!) + BigInt(r.end ?? 0),
  ]);
  return {
    ready: ready.length,
    hosts: new Set(ranks.map((r) => r.host).filter((h) => h !== "")).size,
    start: spans.reduce((a, [b]) => (b < a ? b : a), spans[0]?.[0] ?? 0n),
    covered: coveredBy(spans),
    slices: ready.reduce((sum, r) => sum + (r.slices ?? 0), 0),
  };
}
