/** Which lanes of a rank say what its device did, and a box over them. */
import type { LaneNode } from "../api/types";
import type { Ns } from "../base/ns";
import type { RankLanes } from "./rank_lanes";
import { box, boxLocked, type Box } from "./session";
import { lanesOf, wantLanes } from "./tree";

/** In viewNs. */
interface Span {
  from: Ns;
  to: Ns;
}

/** The look of what stands for time without work (timeline/palette.ts has the others). */
export const LOOK_FREE = 15;

/** Which lanes the minimap shows: tasks of devices; where none were recorded marks on devices, else communication, else all. */
function minimapLanes(key: string): readonly number[] {
  const lanes = lanesOf(key);
  return lanes === undefined ? [] : workingLanes(lanes, lanes.lanesBelow(-1));
}

/** Of some lanes those that say best when a device works: no marks around what it waited for, and none of the communication that
 * it waited in, where its tasks were recorded. */
export function workingLanes(lanes: RankLanes, all: readonly number[]): readonly number[] {
  const nodeOf = (lane: number): LaneNode => lanes.nodes[lanes.nodeOfLane(lane)];
  const tests: ((node: LaneNode) => boolean)[] = [
    (node) => node.kind === "device",
    (node) => node.kind === "marks" && node.device >= 0,
    (node) => node.kind === "comm",
    (node) => node.kind !== "overlap",
    (node) => node.look !== LOOK_FREE,
  ];
  for (const test of tests) {
    const found = all.filter((lane) => test(nodeOf(lane)));
    if (found.length > 0) {
      return found;
    }
  }
  return all;
}

/** What the device did: its tasks, and the operators of communication where they are apart from those. */
export function deviceLanes(key: string): number[] {
  const lanes = lanesOf(key);
  const isComm = (lane: number): boolean => lanes?.nodes[lanes.nodeOfLane(lane)].kind === "comm";
  return [...new Set([...minimapLanes(key), ...(lanes?.lanesBelow(-1).filter(isComm) ?? [])])];
}

/** Of boxes that wait for lanes the one that was asked for last is set. A box that is locked stays. */
let lastAsked = 0;
async function setBox({ from, to }: Span, lanesToCome: Promise<Box["lanes"]>): Promise<void> {
  const asked = ++lastAsked;
  const lanes = await lanesToCome;
  if (asked === lastAsked && !boxLocked.get()) {
    box.set({ from, to, lanes });
  }
}

/** Boxes all lanes of a rank in a span, also of one that is closed. */
export const boxRank = (rank: string, span: Span): Promise<void> => setBox(span, lanesOfRank(rank));

/** All lanes of a rank, as a box has them. Null: they are not there. */
export async function lanesOfRank(rank: string): Promise<Box["lanes"]> {
  const all = (await wantLanes(rank))?.lanesBelow(-1) ?? [];
  return all.length > 0 ? all.map((lane) => ({ rank, lane, rows: null })) : null;
}

async function deviceLanesToCome(rank: string): Promise<Box["lanes"]> {
  await wantLanes(rank);
  const lanes = deviceLanes(rank).map((lane) => ({ rank, lane, rows: null }));
  return lanes.length > 0 ? lanes : null;
}

/** Boxes what the device did in a span: Slice List says what it was, and for how long there was nothing. */
export const boxDevice = (rank: string, span: Span): Promise<void> =>
  setBox(span, deviceLanesToCome(rank));
