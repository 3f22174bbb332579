/** What a wheel and a drag say, the same over everything that zooms and pans. */

/** A drag begins beyond this (CSS pixels). */
const DRAG_PX = 4;
const LINE_PX = 20;
const ZOOM_PER_PX = 0.0022;

/** With Ctrl (or `alwaysZooms`) it zooms: a factor, above 1 shows less. With Shift, or where it goes sideways, it pans by pixels.
 * null: it scrolls, which is not for us. */
export type WheelMove = { zoom: number } | { pan: number } | null;

/** `pagePx`: what a wheel that counts in pages moves by. */
export function wheelMove(e: WheelEvent, pagePx: number, alwaysZooms = false): WheelMove {
  const unit = wheelUnit(e, pagePx);
  if (e.ctrlKey || e.metaKey || alwaysZooms) {
    return { zoom: Math.exp(-e.deltaY * unit * ZOOM_PER_PX) };
  }
  return e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)
    ? { pan: (e.deltaX !== 0 ? e.deltaX : e.deltaY) * unit }
    : null;
}

/** Pixels in one of what the wheel counts. */
export const wheelUnit = (e: WheelEvent, pagePx: number): number =>
  e.deltaMode === 1 ? LINE_PX : e.deltaMode === 2 ? pagePx : 1;

export interface Drag {
  move: (e: PointerEvent) => void;
  end?: (e: PointerEvent) => void;
  /** It did not move. */
  click?: (e: PointerEvent) => void;
  /** However it ended. */
  after?: () => void;
}

/** Follows a drag from its first pixel beyond `leastPx`. */
export function followDrag(
  target: HTMLElement,
  e: PointerEvent,
  drag: Drag,
  leastPx = DRAG_PX,
): void {
  const { clientX, clientY, pointerId } = e;
  let isMoving = leastPx === 0;
  try {
    target.setPointerCapture(pointerId);
  } catch {
    // a pointer made by a script
  }
  const move = (now: PointerEvent): void => {
    isMoving = isMoving || Math.hypot(now.clientX - clientX, now.clientY - clientY) >= leastPx;
    if (isMoving) {
      drag.move(now);
    }
  };
  const stop = (now: PointerEvent): void => {
    target.removeEventListener("pointermove", move);
    target.removeEventListener("pointerup", stop);
    target.removeEventListener("pointercancel", stop);
    if (isMoving) {
      drag.end?.(now);
    } else if (now.type === "pointerup") {
      drag.click?.(now);
    }
    drag.after?.();
  };
  target.addEventListener("pointermove", move);
  target.addEventListener("pointerup", stop);
  target.addEventListener("pointercancel", stop);
}

/** CSS pixels from the element's corner. */
export const placeIn = (element: Element, e: MouseEvent): { x: number; y: number } => {
  const at = element.getBoundingClientRect();
  return { x: e.clientX - at.left, y: e.clientY - at.top };
};
