/** What lanes are called. */
import { lanesOf } from "./tree";

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
