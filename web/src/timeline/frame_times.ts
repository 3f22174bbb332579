/** For benches and tests: how long frames took, and that there is something to see. */

import { expectLanes, lanesSettled } from "../model/lanes_first";

declare global {
  interface Window {
    /** How long each of the last frames took to draw, ms; and how many slices and densities the last one held. */
    pipescopeFrames?: number[];
    pipescopeDrawn?: number;
  }
}

const MOST_FRAMES = 5000;
let wasOutlined = false;
let wasDrawn = false;

export function noteTimeline(): void {
  if (!wasDrawn) {
    expectLanes();
  }
}

/** `nOutlined`: lanes of ranks that are still being read. What is drawn first of either is the first that people see. */
export function noteFrame(ms: number, nDrawn: number, nOutlined: number): void {
  const frames = (window.pipescopeFrames ??= []);
  frames.push(ms);
  if (frames.length > MOST_FRAMES) {
    frames.splice(0, MOST_FRAMES / 2);
  }
  window.pipescopeDrawn = nDrawn;
  if (!wasOutlined && nOutlined + nDrawn > 0) {
    wasOutlined = true;
    performance.mark("first-outline");
  }
  if (!wasDrawn && nDrawn > 0) {
    wasDrawn = true;
    performance.mark("first-lanes");
    lanesSettled();
  }
}
