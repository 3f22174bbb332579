/** The one tree of lanes of the page, and the lanes of ranks as they come. */
import type { Rank, Ref } from "../api/types";
import { Atom } from "../base/atom";
import type { Ns } from "../base/ns";
import { LaneTree, type LayoutInput } from "./lanes";
import { outlineOf } from "./outlines";
import { t } from "../words";
import { pipelineOf } from "./pipeline_rows";
import { laneShift, readLanes, type RankLanes } from "./rank_lanes";
import { rankOf, ranks } from "./session";

export const tree = new LaneTree();
/** Told after every change of the tree; it is laid out anew before the next frame. */
export const treeChanged = new Atom<number>(0);
/** Told when it was laid out: only then its rows are those of the lanes that came. */
export const laidOut = new Atom<number>(0);
export const touchTree = (): void => treeChanged.update((n) => n + 1);
/** Rows that are marked in the label column, for hiding, merging and pinning several; ids. */
export const marked = new Atom<ReadonlySet<string>>(new Set());

const known = new Map<string, RankLanes>();
const asked = new Map<string, Promise<RankLanes | null>>();
/** Streams to merge when their rank is read: what the address said. */
const toMerge = new Map<string, string[][]>();

export const lanesOf = (key: string): RankLanes | undefined => known.get(key);

/** viewNs - rankNs of a lane, as far as it is known. */
export function shiftAt(rankKey: string, lane: number): Ns | null {
  const rank = rankOf(rankKey);
  const lanes = lanesOf(rankKey);
  if (rank === undefined || lanes === undefined || rank.state !== "ready") {
    return null;
  }
  return laneShift(rank, lanes, lanes.nodeOfLane(lane));
}

function pipelineName(rank: Rank): string | undefined {
  const found = pipelineOf(rank);
  return found === null
    ? undefined
    : t("timeline.pipeline-lane", found.row.stage < 0 ? "?" : found.row.stage);
}

export const layoutInput = (): LayoutInput => ({
  ranks: ranks.get(),
  lanesOf,
  pipelineOf: pipelineName,
  outlineOf,
});

/** Asks for the lanes of a rank that is ready; they are kept from then on. Null: it has none to give now. */
export function wantLanes(key: string): Promise<RankLanes | null> {
  const there = known.get(key);
  if (there !== undefined) {
    return Promise.resolve(there);
  }
  let pending = asked.get(key);
  if (pending === undefined) {
    pending = readLanes(key).then(
      async (lanes) => {
        known.set(key, lanes);
        await mergeKnown(key, lanes);
        touchTree();
        return lanes;
      },
      () => {
        // Once more when its state changes, or somebody looks at it again later.
        setTimeout(() => asked.delete(key), 2000);
        return null;
      },
    );
    asked.set(key, pending);
  }
  return pending;
}

async function mergeKnown(key: string, lanes: RankLanes): Promise<void> {
  for (const ids of toMerge.get(key) ?? []) {
    const nodes = ids.map((id) => lanes.find(id)).filter((n) => n >= 0);
    if (nodes.length > 1) {
      await lanes.merge(nodes).catch(() => undefined);
    }
  }
  toMerge.delete(key);
}

/** Merges streams by the ids of their nodes, now or when their rank is read. */
export async function mergeLanes(key: string, ids: string[]): Promise<void> {
  const lanes = known.get(key);
  toMerge.set(key, [...(toMerge.get(key) ?? []), ids]);
  if (lanes !== undefined) {
    await mergeKnown(key, lanes);
    touchTree();
  }
}

/** Lanes of all ranks that are ready, for what concerns them all. */
export const wantAllLanes = (): Promise<unknown> =>
  Promise.all(
    ranks
      .get()
      .filter((r) => r.state === "ready")
      .map((r) => wantLanes(r.key)),
  );

/** Whether a rank is there, when it has been read: other pages show ranks before the timeline can. */
async function whenRead(key: string): Promise<boolean> {
  for (;;) {
    const state = rankOf(key)?.state;
    if (state !== "queued" && state !== "reading") {
      return state === "ready";
    }
    await new Promise<void>((done) => {
      const stop = ranks.listen(() => {
        stop();
        done();
      });
    });
  }
}

/** Opens what a slice lies in. The row's id, or null when its rank is not there. */
export async function revealLane(of: Pick<Ref, "rank" | "lane">): Promise<string | null> {
  if (!(await whenRead(of.rank)) || (await wantLanes(of.rank)) === null) {
    return null;
  }
  const id = tree.reveal(layoutInput(), of.rank, of.lane);
  touchTree();
  return id;
}
