/** What is there so far of ranks that are being read: drawn in the place of their lanes until those come. Asked for whenever the server
 * tells that it is further, one request at a time. */
import { get } from "../api/client";
import type { OutlineReply, Rank } from "../api/types";
import { Atom } from "../base/atom";
import type { Ns } from "../base/ns";
import { autoOffset, fromAbsolute, offsets, ranks } from "./session";

export interface OutlineLane {
  process: string;
  name: string;
  slices: number;
  /** 0..255 of each bucket of time. */
  busy: Uint8Array;
}

export interface Outline {
  /** Absolute; the first bucket begins then. */
  originNs: bigint;
  bucketNs: Ns;
  /** First and last time, from originNs. */
  start: Ns;
  end: Ns;
  lanes: OutlineLane[];
}

export const outlinesChanged = new Atom<number>(0);
const known = new Map<string, Outline>();
/** How far a rank was when it was last asked for. */
const askedAt = new Map<string, number>();
const pending = new Set<string>();

export const outlineOf = (key: string): Outline | undefined => known.get(key);

/** A hexadecimal digit for each bucket: nothing is 0, and what is there shows however little it is. */
export function takeOutline(reply: OutlineReply): Outline {
  const { origin_ns, bucket_ns, start, end, lanes } = reply;
  return {
    originNs: BigInt(origin_ns),
    bucketNs: bucket_ns,
    start,
    end,
    lanes: lanes.map(({ busy, ...lane }) => ({
      ...lane,
      busy: Uint8Array.from(busy, (digit) => parseInt(digit, 16) * 17),
    })),
  };
}

/** viewNs - outlineNs. Before any rank is there the view begins with the outline. */
export function outlineShift(rank: Rank, outline: Outline): Ns {
  const at = fromAbsolute(outline.originNs);
  if (at === null) {
    return 0 - outline.start;
  }
  const like = { origin_ns: String(outline.originNs), start: outline.start, end: outline.end };
  return at + autoOffset({ ...rank, ...like }) + (offsets.get().get(rank.key) ?? 0);
}

const isRead = (rank: Rank | undefined): boolean => rank?.state === "reading";

/** Asks for what is there of a rank that is being read, if more has come since. */
export function followOutline(rank: Rank): void {
  const { key, progress } = rank;
  if (!isRead(rank) || progress === askedAt.get(key) || pending.has(key)) {
    return;
  }
  pending.add(key);
  askedAt.set(key, progress);
  get<OutlineReply>("outline", { rank: key }).then(
    (reply) => {
      pending.delete(key);
      if (reply.lanes.length > 0 && isRead(ranks.get().find((r) => r.key === key))) {
        known.set(key, takeOutline(reply));
        outlinesChanged.update((n) => n + 1);
      }
    },
    () => pending.delete(key), // the next change asks again
  );
}

/** A rank that is there has lanes. */
ranks.listen(() => {
  for (const rank of known.size > 0 ? ranks.get() : []) {
    if (!isRead(rank)) {
      known.delete(rank.key);
    }
  }
});
