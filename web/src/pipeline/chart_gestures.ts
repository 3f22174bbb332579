/** What the pointer does over the plot: it drags, zooms, hovers, clicks. Places are CSS pixels of the plot. */
import { followDrag, placeIn, wheelMove } from "../base/pointer";

const PAGE_PX = 400;

export interface ChartGestureListeners {
  zoom: (factor: number, x: number) => void;
  pan: (px: number) => void;
  /** The pointer rests on a place; null: it has left, or drags. */
  hover: (at: { x: number; y: number } | null, event: PointerEvent) => void;
  /** Without dragging. */
  click: (at: { x: number; y: number }, event: PointerEvent) => void;
  double: (x: number) => void;
}

/** Until `signal` says stop. */
export function listenToPlot(
  plot: HTMLElement,
  over: HTMLElement,
  signal: AbortSignal,
  on: ChartGestureListeners,
): void {
  let isDragging = false;
  over.addEventListener("wheel", (event) => wheel(plot, event, on), { passive: false, signal });
  over.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button === 0) {
        drag(plot, over, event, on, (now) => (isDragging = now));
      }
    },
    { signal },
  );
  over.addEventListener(
    "pointermove",
    (event) => !isDragging && on.hover(placeIn(plot, event), event),
    { signal },
  );
  over.addEventListener("pointerleave", (event) => on.hover(null, event), { signal });
  over.addEventListener("dblclick", (event) => on.double(placeIn(plot, event).x), { signal });
}

function wheel(plot: HTMLElement, event: WheelEvent, on: ChartGestureListeners): void {
  const move = wheelMove(event, PAGE_PX);
  if (move === null) {
    return;
  }
  event.preventDefault();
  if ("zoom" in move) {
    on.zoom(move.zoom, placeIn(plot, event).x);
  } else {
    on.pan(move.pan);
  }
}

function drag(
  plot: HTMLElement,
  over: HTMLElement,
  event: PointerEvent,
  on: ChartGestureListeners,
  setDragging: (now: boolean) => void,
): void {
  let lastX = event.clientX;
  setDragging(true);
  followDrag(over, event, {
    move: (now) => {
      over.classList.add("dragging");
      on.hover(null, now);
      on.pan(lastX - now.clientX);
      lastX = now.clientX;
    },
    click: (now) => on.click(placeIn(plot, now), now),
    after: () => {
      over.classList.remove("dragging");
      setDragging(false);
    },
  });
}
