/** From a block of a pipeline's lane to what it is made of. */
import { get } from "../api/client";
import type { Ref } from "../api/types";
import { fail } from "../model/notices";
import { goto } from "../model/session";
import { boxDevice } from "../model/working_lanes";
import type { PipelineHit } from "./pipeline_lane";
import type { Timeline } from "./timeline";

/** The slice that an op is made of; of a gap, of other work, and where no slice is exactly that, what the device did there. */
export async function takeBlock(timeline: Timeline, hit: PipelineHit): Promise<void> {
  const { rank, kind, from, to, start, end } = hit;
  try {
    const found =
      kind === "ops"
        ? await get<{ ref: Ref | null }>("slice_at", { rank: rank.key, start, end })
        : null;
    if (found?.ref != null) {
      await timeline.select(found.ref.rank, found.ref.slice);
      const isSeen = timeline.scene
        .itemsOnScreen()
        .some((item) => item.kind === "pipeline" && item.rank?.key === rank.key);
      if (hit.after !== undefined && !isSeen) {
        goto.set({ ref: found.ref }); // the line leads from here to a rank out of sight
      }
      return;
    }
  } catch (error) {
    fail(error);
    return;
  }
  await boxDevice(rank.key, { from, to });
}
