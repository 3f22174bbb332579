/** The two sides of a comparison: a capture, all of its ranks or one, all of its steps or one; without a document. */
import type { Params } from "../api/client";
import type { Cell, Rank, Table } from "../api/types";
import { nsReader, reader } from "./data";

/** Numbers as text, ALL of them, or "" where nobody has chosen. */
export interface Side {
  cluster: number;
  rank: string;
  step: string;
}
export interface Sides {
  now: Side;
  base: Side;
}
export const ALL = "all";

/** Above this many ranks what reads all of them is worked out when asked for. */
export const MOST_UNASKED = 64;

export const isChosen = (side: Side): boolean => side.rank !== "" || side.step !== "";
const isAll = (text: string): boolean => text === "" || text === ALL;
/** One rank stands for itself, not for a mean over several. */
export const isOneRank = (side: Side): boolean => !isAll(side.rank);
export const isOneStep = (side: Side): boolean => !isAll(side.step);

/** All ranks of both, or the same one. */
export const isOfSameRanks = ({ now, base }: Sides): boolean =>
  isOneRank(now) ? now.rank === base.rank : !isOneRank(base);

/** Whether both are the same ranks and steps of one capture. */
export const isSame = ({ now, base }: Sides): boolean =>
  now.cluster === base.cluster &&
  (isAll(now.rank) ? isAll(base.rank) : now.rank === base.rank) &&
  (isAll(now.step) ? isAll(base.step) : now.step === base.step);

/** What /api/mode is asked. */
export const paramsOf = ({ now, base }: Sides): Params => ({
  name: "compare",
  cluster: now.cluster,
  baseline: base.cluster,
  ...(isOneRank(now) ? { rank_list: now.rank } : {}),
  ...(isOneStep(now) ? { step_id: now.step } : {}),
  ...(isOneRank(base) ? { base_rank_list: base.rank } : {}),
  ...(isOneStep(base) ? { base_step: base.step } : {}),
});

/** The ranks of a side. */
export const ranksOf = (known: readonly Rank[], side: Side): Rank[] =>
  known.filter(
    (r) => r.cluster === side.cluster && (!isOneRank(side) || String(r.rank) === side.rank),
  );

/** Steps of a capture, as far as its ranks have been read, rising. */
export const stepIds = (known: readonly Rank[], cluster: number): number[] => {
  const ids = known
    .filter((r) => r.cluster === cluster)
    .flatMap((r) => (r.steps ?? []).map(([id]) => id));
  return [...new Set(ids)].sort((a, b) => a - b);
};

/** Why two ranks of a capture are compared where nobody has chosen any. */
export type Reason = "computing" | "stage" | "other" | "other of stage" | "first";
export interface Proposal {
  now: string;
  base: string;
  reason: Reason;
}

const median = <T>(sorted: readonly T[]): T => sorted[(sorted.length - 1) >> 1];

/** The rank that computes longest beside the median of the others of its stage, or where it is alone there of all others, by the view
 * "overview"; where that is not known, the first two. null: there is but one rank. */
export function proposedRanks(overview: Table | null, ranks: readonly number[]): Proposal | null {
  const [first, second] = [...new Set(ranks)].sort((a, b) => a - b);
  if (second === undefined) {
    return null;
  }
  const known =
    overview === null ? [] : computingOf(overview).filter((r) => ranks.includes(r.rank));
  const slowest = known.reduce<Computing | null>(
    (most, r) => (most === null || r.ns > most.ns ? r : most),
    null,
  );
  if (slowest === null || known.length < 2) {
    return { now: String(second), base: String(first), reason: "first" };
  }
  const others = known.filter((r) => r !== slowest).sort((a, b) => a.ns - b.ns);
  const beside = others.filter((r) => slowest.stage !== null && r.stage === slowest.stage);
  const base = median(beside.length > 0 ? beside : others);
  return {
    now: String(slowest.rank),
    base: String(base.rank),
    reason: reasonOf(others.length, beside.length),
  };
}

/** Of one there is no median. */
const reasonOf = (others: number, ofStage: number): Reason =>
  others === 1 ? "other" : ofStage === 1 ? "other of stage" : ofStage > 1 ? "stage" : "computing";

interface Computing {
  rank: number;
  stage: Cell;
  ns: number;
}

function computingOf(overview: Table): Computing[] {
  const [rank, stage, computing] = [
    reader(overview, "rank id"),
    reader(overview, "pp"),
    nsReader(overview, "computing"),
  ];
  return overview.rows.flatMap((row) => {
    const ns = computing(row);
    return ns === null || ns <= 0 ? [] : [{ rank: Number(rank(row)), stage: stage(row), ns }];
  });
}

/** Of a rank its longest step beside the median of its others; null: it has but one. */
export function proposedSteps(rank: Rank | undefined): { now: string; base: string } | null {
  const byLength = [...(rank?.steps ?? [])].sort((a, b) => a[2] - a[1] - (b[2] - b[1]));
  const longest = byLength.pop();
  return longest === undefined || byLength.length === 0
    ? null
    : { now: String(longest[0]), base: String(median(byLength)[0]) };
}
