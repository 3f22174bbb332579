/** Which lanes the timeline shows, for panels that count what is shown, and what lanes are called. */
import { lanesOf, tree } from "./tree";

export interface ShownLane {
  rank: string;
  lane: number;
}

/** Lanes of slices that are not hidden and lie in nothing that is closed, from top to bottom, also those outside of the window. */
export function shownLanes(): ShownLane[] {
  const out: ShownLane[] = [];
  for (const item of tree.items) {
    const lane =
      item.kind === "lane" && item.lanes !== null ? item.lanes.nodes[item.node].lane : -1;
    if (lane >= 0 && item.rank !== null) {
      out.push({ rank: item.rank.key, lane });
    }
  }
  return out;
}

/** "Thread 12 \u203a calls" */
export function laneName(rank: string, lane: number): string {
  const lanes = lanesOf(rank);
  const node = lanes?.nodeOfLane(lane) ?? -1;
  if (lanes === undefined || node < 0) {
    return `#${lane}`;
  }
  const { name, parent } = lanes.nodes[node];
  return parent < 0 ? name : `${lanes.nodes[parent].name} \u203a ${name}`;
}
