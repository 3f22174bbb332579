/** The row that keys act on, and the rows that are chosen with it. */
import { useState } from "preact/hooks";

export interface Cursor {
  /** -1: none. */
  at: number;
  /** Both ends are chosen; null: nothing is. */
  chosen: [first: number, last: number] | null;
  /** With `extend` what was chosen stays. */
  moveTo: (i: number, extend: boolean) => void;
  chooseAll: () => void;
  clear: () => void;
}

export function useCursor(total: number, reveal: (i: number) => void): Cursor {
  const [focus, setFocus] = useState(-1);
  const [anchor, setAnchor] = useState(-1);
  const set = (from: number, to: number): void => {
    setAnchor(from);
    setFocus(to);
  };
  return {
    at: focus,
    chosen: focus < 0 ? null : [Math.min(anchor, focus), Math.max(anchor, focus)],
    moveTo: (i, extend) => {
      const to = Math.max(0, Math.min(total - 1, i));
      set(extend ? anchor : to, to);
      reveal(to);
    },
    chooseAll: () => set(0, total - 1),
    clear: () => set(-1, -1),
  };
}

export interface KeyActions {
  cursor: Cursor;
  total: number;
  /** Rows in sight. */
  page: number;
  open: (i: number) => void;
  /** null: it is no tree. */
  toggle: ((i: number, open: boolean) => void) | null;
  copy: () => void;
}

/** What the keys do in a table. */
export function tableKey(e: KeyboardEvent, to: KeyActions): void {
  if ((e.target as HTMLElement).tagName === "INPUT") {
    return;
  }
  const act = moveKey(e, to) ?? rowKey(e, to) ?? chooseKey(e, to);
  if (act !== null) {
    act();
    e.preventDefault();
    e.stopPropagation();
  }
}

type Act = (() => void) | null;

function moveKey(e: KeyboardEvent, { cursor, page, total }: KeyActions): Act {
  const { at } = cursor;
  const moves: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: total - 1,
  };
  const to = e.ctrlKey || e.altKey || e.metaKey ? undefined : moves[e.key];
  return to === undefined ? null : () => cursor.moveTo(to, e.shiftKey);
}

/** Of the row that the cursor is on. */
function rowKey(e: KeyboardEvent, { cursor, open, toggle }: KeyActions): Act {
  if (cursor.at < 0) {
    return null;
  }
  if (e.key === "Enter" && (e.target as HTMLElement).tagName !== "BUTTON") {
    return () => open(cursor.at);
  }
  return (e.key === "ArrowLeft" || e.key === "ArrowRight") && toggle !== null
    ? () => toggle(cursor.at, e.key === "ArrowRight")
    : null;
}

/** A text that was chosen with the mouse is copied by the browser. */
function chooseKey(e: KeyboardEvent, { cursor, copy }: KeyActions): Act {
  if (!e.ctrlKey && !e.metaKey) {
    return null;
  }
  if (e.key === "c" && cursor.at >= 0 && getSelection()?.isCollapsed !== false) {
    return copy;
  }
  return e.key === "a" ? cursor.chooseAll : null;
}
