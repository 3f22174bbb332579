/** Moving ranks and their parts against one another (T-20, T-21). Offsets are by rank key, or "KEY|PART". */
import type { Ref } from "../api/types";
import type { Ns } from "../base/ns";
import { duration, signedDuration } from "../base/time";
import { t } from "../words";

export type Offsets = ReadonlyMap<string, Ns>;

export interface Placed {
  ref: Pick<Ref, "rank" | "start" | "dur">;
  /** viewNs - rankNs of its lane, now. */
  shift: Ns;
  /** The part of the rank that its lane belongs to. */
  part: string;
}

/** Moves what `moved` is in so that its start (or end) is that of `base`. In the rank of the base only its part moves; another
 * rank moves as a whole. Null: both are in the same part, nothing can move. */
export function alignTo(
  offsets: Offsets,
  base: Placed,
  moved: Placed,
  atEnd: boolean,
): Map<string, Ns> | null {
  if (base.ref.rank === moved.ref.rank && base.part === moved.part) {
    return null;
  }
  const edge = (p: Placed): Ns => p.shift + p.ref.start + (atEnd ? p.ref.dur : 0);
  const key = base.ref.rank === moved.ref.rank ? `${moved.ref.rank}|${moved.part}` : moved.ref.rank;
  return withOffset(offsets, key, (offsets.get(key) ?? 0) + edge(base) - edge(moved));
}

/** What moved, ranks and parts of ranks, and by how much. */
export const movedBetween = (before: Offsets, after: Offsets): [key: string, by: Ns][] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .map((key): [string, Ns] => [key, (after.get(key) ?? 0) - (before.get(key) ?? 0)])
    .filter(([, by]) => by !== 0);

/** More than that are counted. */
const MOST_NAMED = 3;

/** The same as a sentence; `nameOf`: how a key is called. */
export function movedText(
  moved: readonly [key: string, by: Ns][],
  nameOf: (key: string) => string,
): string {
  const most = moved.reduce((far, [, by]) => Math.max(far, Math.abs(by)), 0);
  return moved.length === 0
    ? t("timeline.none-moved")
    : moved.length > MOST_NAMED
      ? t("timeline.moved-many", moved.length, duration(most))
      : moved
          .map(([key, by]) => t("timeline.moved-what", nameOf(key), signedDuration(by)))
          .join(", ");
}

/** 0 takes the entry out. */
export function withOffset(offsets: Offsets, key: string, offset: Ns): Map<string, Ns> {
  const next = new Map(offsets);
  if (offset === 0) {
    next.delete(key);
  } else {
    next.set(key, offset);
  }
  return next;
}

/** The offset with which a rank or a part begins where the view does. `startNow`: viewNs of its first slice. */
export const alignStart = (offset: Ns, startNow: Ns, target: Ns): Ns => offset + target - startNow;
