/** What the mouse does, for the help. */
import type { Tab } from "../model/session";
import type { Word } from "../words";

export interface Gesture {
  on: Tab | "frame";
  how: Word;
  what: Word;
}

export const GESTURES: Gesture[] = [
  { on: "timeline", how: "gesture.ctrl-wheel", what: "gesture.zoom-at" },
  { on: "timeline", how: "gesture.ctrl-drag", what: "gesture.pan" },
  { on: "timeline", how: "gesture.shift-wheel", what: "gesture.pan" },
  { on: "timeline", how: "gesture.wheel", what: "gesture.scroll-lanes" },
  { on: "timeline", how: "gesture.alt-drag", what: "gesture.zoom-box" },
  { on: "timeline", how: "gesture.drag", what: "gesture.select-box" },
  { on: "timeline", how: "gesture.click", what: "gesture.select-slice" },
  { on: "timeline", how: "gesture.right-click", what: "gesture.slice-menu" },
  { on: "timeline", how: "gesture.click-axis", what: "gesture.marker" },
  { on: "timeline", how: "gesture.double-click-marker", what: "gesture.edit-marker" },
  { on: "pipeline", how: "gesture.ctrl-wheel", what: "gesture.zoom-at" },
  { on: "pipeline", how: "gesture.ctrl-drag", what: "gesture.pan" },
  { on: "pipeline", how: "gesture.shift-wheel", what: "gesture.pan" },
  { on: "pipeline", how: "gesture.hover", what: "gesture.trace-microbatch" },
  { on: "pipeline", how: "gesture.click", what: "gesture.open-in-timeline" },
  { on: "memory", how: "gesture.drag", what: "gesture.zoom-span" },
  { on: "memory", how: "gesture.double-click", what: "gesture.zoom-reset" },
  { on: "communication", how: "gesture.ctrl-wheel", what: "gesture.zoom-at" },
  { on: "communication", how: "gesture.ctrl-drag", what: "gesture.pan" },
  { on: "communication", how: "gesture.click-cell", what: "gesture.pair" },
  { on: "frame", how: "gesture.click-header", what: "gesture.sort" },
  { on: "frame", how: "gesture.drag-edge", what: "gesture.column-width" },
  { on: "frame", how: "gesture.double-click-row", what: "gesture.row-to-timeline" },
];
