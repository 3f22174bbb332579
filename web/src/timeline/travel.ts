/** Moves the window to where something leads. */
import type { Ref } from "../api/types";
import type { Goto } from "../model/session";
import { followExtent, moveWindow } from "../model/timeline";
import { shiftAt } from "../model/tree";

export function travelTo(to: Goto): void {
  followExtent(); // before the first frame nothing is known of it, and the window would be cut to nothing
  if (to.span !== undefined) {
    const { from, to: end } = to.span;
    moveWindow((view) =>
      from === end
        ? view.centre(from)
        : to.isStep === true
          ? view.show(from, end)
          : view.showWithRoom(from, end),
    );
  } else if (to.ref !== undefined) {
    revealSlice(to.ref);
  }
}

/** Moves the window to a slice. */
function revealSlice(ref: Ref): void {
  const shift = shiftAt(ref.rank, ref.lane);
  if (shift !== null) {
    const from = ref.start + shift;
    moveWindow((view) => view.leadTo(from, from + ref.dur));
  }
}
