/** Moves the window to where something leads. */
import type { Ref } from "../api/types";
import type { Goto } from "../model/session";
import { followExtent, moveWindow } from "../model/timeline";
import { shiftAt } from "../model/tree";

/** Narrower slices could not be seen. */
const SEEN_PX = 3;
/** So many times its length is then shown on both sides. */
const ROOM = 20;

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

/** Moves the window to a slice; it zooms in where the slice could not be seen. */
function revealSlice(ref: Ref): void {
  const shift = shiftAt(ref.rank, ref.lane);
  if (shift === null) {
    return;
  }
  const from = ref.start + shift;
  const end = from + ref.dur;
  moveWindow((view) => {
    if (ref.dur / view.nsPerPx < SEEN_PX && ref.dur > 0) {
      view.showInside(from - ref.dur * ROOM, end + ref.dur * ROOM);
    } else {
      view.reveal(from, end);
    }
  });
}
