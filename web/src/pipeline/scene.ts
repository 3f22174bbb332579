/** Where each row's lanes lie, in CSS pixels from the plot's top. */
import type { View } from "./rows";

export interface Scene {
  blockH: number;
  transferY: number;
  transferH: number;
  theoryY: number;
  theoryH: number;
  /** From one row to the next. */
  pitch: number;
  height: number;
  n: number;
}

export function makeScene(view: View): Scene {
  const n = view.rows.length;
  const blockH = n <= 6 ? 32 : n <= 12 ? 26 : n <= 24 ? 20 : n <= 64 ? 14 : n <= 160 ? 10 : 6;
  const transferH = view.hasTransfers ? Math.min(12, Math.max(3, Math.round(blockH / 2.6))) : 0;
  const theoryH = view.theoryShare !== null ? Math.max(3, Math.round(blockH * 0.6)) : 0;
  const between = blockH > 12 ? 2 : 1;
  const theoryY = blockH + between;
  const transferY = theoryY + (theoryH > 0 ? theoryH + between : 0);
  const used = transferH > 0 ? transferY + transferH : theoryH > 0 ? theoryY + theoryH : blockH;
  const pitch = used + (blockH >= 26 ? 10 : blockH >= 20 ? 8 : blockH >= 14 ? 4 : 2);
  return { blockH, transferY, transferH, theoryY, theoryH, pitch, height: n * pitch, n };
}

export type LaneKind = "ops" | "theory" | "transfers";

/** The row and lane at y; null between two. Gaps of a row belong to the lane above them. */
export function at(scene: Scene, y: number): { row: number; lane: LaneKind } | null {
  const row = Math.floor(y / scene.pitch);
  if (row < 0 || row >= scene.n) {
    return null;
  }
  const inside = y - row * scene.pitch;
  if (scene.transferH > 0 && inside >= scene.transferY) {
    return inside < scene.transferY + scene.transferH ? { row, lane: "transfers" } : null;
  }
  if (scene.theoryH > 0 && inside >= scene.theoryY) {
    return inside < scene.theoryY + scene.theoryH ? { row, lane: "theory" } : null;
  }
  return inside < scene.blockH ? { row, lane: "ops" } : null;
}
