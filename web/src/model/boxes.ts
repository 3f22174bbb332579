/** The box of a selection: from pixels to times and lanes, and back. */
import type { Box } from "./session";
import { ROW_PX, type Item } from "./lanes";

export type BoxLane = NonNullable<Box["lanes"]>[number];

/** Rows of an open lane that pixels [top, bottom) of its height cross. */
export function rowsCrossed(item: Item, top: number, bottom: number): [number, number] {
  const first = Math.max(0, Math.floor(Math.max(0, top - 2) / ROW_PX));
  const end = Math.min(item.rows, Math.max(first + 1, Math.ceil((bottom - 2) / ROW_PX)));
  return [Math.min(first, Math.max(0, item.rows - 1)), end];
}

/** The lanes that a box from y0 to y1 (of the list of items) crosses. A row that is closed stands for all below it; open
 * headers and pipelines stand for nothing, unless the box crosses nothing else: then for all of their own. */
export function lanesCrossed(
  items: readonly Item[],
  firstItem: number,
  y0: number,
  y1: number,
  byRows: boolean,
): BoxLane[] {
  const top = Math.min(y0, y1);
  const bottom = Math.max(y0, y1);
  const found: BoxLane[] = [];
  const seen = new Set<string>();
  const add = (rank: string, lane: number, rows: [number, number] | null): void => {
    if (!seen.has(`${rank}|${lane}`)) {
      seen.add(`${rank}|${lane}`);
      found.push({ rank, lane, rows });
    }
  };
  const headers: Item[] = [];
  for (let i = firstItem; i < items.length && items[i].y < bottom; i++) {
    const item = items[i];
    if (
      item.y + item.height <= top ||
      item.rank === null ||
      item.lanes === null ||
      item.kind === "hidden"
    ) {
      continue;
    }
    const { key } = item.rank;
    if (item.kind === "lane") {
      const rows = byRows && item.isOpen ? rowsCrossed(item, top - item.y, bottom - item.y) : null;
      add(key, item.lanes.nodes[item.node].lane, rows);
      if (!item.isOpen) {
        item.lanes.lanesBelow(item.node).forEach((lane) => add(key, lane, null));
      }
    } else if (item.kind === "group" || item.kind === "rank") {
      if (item.isOpen) {
        headers.push(item);
      } else {
        item.lanes.lanesBelow(item.node).forEach((lane) => add(key, lane, null));
      }
    } else if (item.kind === "pipeline") {
      headers.push(item);
    }
  }
  if (found.length === 0) {
    headers
      .slice(-1)
      .forEach((h) => h.lanes!.lanesBelow(h.node).forEach((lane) => add(h.rank!.key, lane, null)));
  }
  return found;
}

/** Pixels from the list's top that a box covers: of its lanes, or everything. Null: none of them is shown. */
export function boxExtent(
  lanes: Box["lanes"],
  itemOf: (rank: string, lane: number) => Item | undefined,
  height: number,
): [number, number] | null {
  if (lanes === null) {
    return [0, height];
  }
  let top = Infinity;
  let bottom = -Infinity;
  for (const { rank, lane, rows } of lanes) {
    const item = itemOf(rank, lane);
    if (item !== undefined) {
      const isOpen = item.kind === "lane" && item.isOpen;
      top = Math.min(top, item.y + (isOpen && rows !== null ? 2 + rows[0] * ROW_PX : 0));
      bottom = Math.max(
        bottom,
        isOpen && rows !== null ? item.y + 2 + rows[1] * ROW_PX : item.y + item.height,
      );
    }
  }
  return top < bottom ? [top, bottom] : null;
}
