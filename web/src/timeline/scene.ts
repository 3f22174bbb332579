/** Where rows lie on screen. Two regions one below the other: pinned rows, which stay, and the list, which scrolls. Pixels of
 * CSS from the plot's top. */
import { HEADER_PX, PREVIEW_PX, ROW_PX, type Item, type LaneTree } from "../model/lanes";
import type { RankLanes } from "../model/rank_lanes";

export interface Region {
  isPins: boolean;
  top: number;
  bottom: number;
  scroll: number;
  items: readonly Item[];
}

/** Pinned rows take at most this share of the height. */
const PINS_SHARE = 0.5;
const PREVIEW_PAD = 2;
/** Above and below the rows of an open lane. */
export const LANE_PAD = 2;

export class Scene {
  width = 1;
  height = 1;
  /** Device pixels in one of CSS. */
  scale = 1;
  scrollTop = 0;
  pinsScroll = 0;
  readonly regions: [Region, Region] = [
    { isPins: true, top: 0, bottom: 0, scroll: 0, items: [] },
    { isPins: false, top: 0, bottom: 1, scroll: 0, items: [] },
  ];

  constructor(readonly tree: LaneTree) {}

  /** After the tree, the size or a scroll position changed. */
  update(): void {
    const shown = Math.min(this.tree.pinsHeight, Math.floor(this.height * PINS_SHARE));
    const [pins, list] = this.regions;
    pins.items = this.tree.pins;
    pins.bottom = shown;
    this.pinsScroll = Math.max(0, Math.min(this.pinsScroll, this.tree.pinsHeight - shown));
    pins.scroll = this.pinsScroll;
    list.items = this.tree.items;
    list.top = shown;
    list.bottom = this.height;
    this.scrollTop = Math.max(0, Math.min(this.scrollTop, this.mostScroll));
    list.scroll = this.scrollTop;
  }

  get mostScroll(): number {
    return Math.max(0, this.tree.height - (this.height - this.regions[0].bottom));
  }

  regionAt(y: number): Region {
    return y < this.regions[0].bottom ? this.regions[0] : this.regions[1];
  }

  /** y of the plot as pixels from the top of a region's rows. */
  inside(region: Region, y: number): number {
    return y - region.top + region.scroll;
  }

  firstItem(region: Region): number {
    return this.tree.indexAt(region.scroll, region.isPins);
  }

  /** Of both regions, in order. */
  itemsOnScreen(): Item[] {
    return this.regions.flatMap((region) => {
      const end = region.scroll + region.bottom - region.top;
      const first = this.firstItem(region);
      const stop = region.items.findIndex((item, i) => i >= first && item.y >= end);
      return region.items.slice(first, stop < 0 ? undefined : stop);
    });
  }

  /** The rank that stays at the top of the list though its own row is above it. */
  stuck(region: Region): { item: Item; top: number } | null {
    return region.isPins || region.bottom <= region.top
      ? null
      : stuckRank(region, this.firstItem(region));
  }

  /** Where rows begin to be in sight, in pixels of the plot: below the header that stays. */
  clearTop(region: Region): number {
    const stuck = this.stuck(region);
    return region.top + (stuck === null ? 0 : stuck.top + HEADER_PX);
  }

  itemAt(y: number): { item: Item; region: Region; y: number } | null {
    const region = this.regionAt(y);
    const stuck = this.stuck(region);
    if (stuck !== null && y < this.clearTop(region)) {
      return { item: stuck.item, region, y: y - region.top - stuck.top };
    }
    const inside = this.inside(region, y);
    const item = region.items[this.tree.indexAt(inside, region.isPins)];
    return item === undefined || inside < item.y ? null : { item, region, y: inside - item.y };
  }

  /** Shows an item, and the header of its rank with its steps and its pipeline where there is room for both; nothing moves when
   * that is so already. */
  scrollTo(item: Item, row = -1): void {
    const list = this.regions[1];
    const room = list.bottom - list.top;
    const top = item.y + (row >= 0 && item.isOpen ? LANE_PAD + row * ROW_PX : 0);
    const bottom = top + (row >= 0 ? ROW_PX : Math.min(item.height, room - HEADER_PX));
    const head = this.headOf(item);
    const first = bottom - head <= room ? head : top - HEADER_PX;
    if (first < this.scrollTop) {
      this.scrollTop = first === head ? head : Math.max(first - HEADER_PX, bottom - room);
    } else if (bottom > this.scrollTop + room) {
      this.scrollTop = Math.min(first, bottom - room + 2 * HEADER_PX);
    }
    this.update();
  }

  /** Where the row of the item's rank lies, of what is in none the item. */
  private headOf(item: Item): number {
    const { items } = this.tree;
    let at = items.indexOf(item);
    while (at >= 0 && items[at].kind !== "rank") {
      at--;
    }
    return at >= 0 && items[at].rank === item.rank ? items[at].y : item.y;
  }
}

/** Pixels [top, bottom) from the item's top where a row of its lane is drawn. */
export function rowSpan(item: Item, row: number): [number, number] {
  if (item.kind === "lane" && item.isOpen) {
    const shown = Math.min(row, item.rows - 1);
    const top = LANE_PAD + shown * ROW_PX;
    return [top, top + ROW_PX - 2];
  }
  if (item.kind === "lane") {
    return previewSpan(row, item.lanes!.nodes[item.node].rows);
  }
  return [4, item.height - 4];
}

/** A row of a closed lane. */
export function previewSpan(row: number, rows: number): [number, number] {
  const room = PREVIEW_PX - 2 * PREVIEW_PAD;
  const each = Math.max(1, Math.min(room, room / Math.max(1, rows)));
  const top = Math.min(room - 1, Math.floor((row * room) / Math.max(1, rows)));
  return [
    PREVIEW_PAD + top,
    PREVIEW_PAD + Math.max(top + 1, Math.min(room, Math.floor(top + each))),
  ];
}

/** The row that is drawn at y of a closed lane: the first of those that share it. */
export function previewRow(y: number, rows: number): number {
  const room = PREVIEW_PX - 2 * PREVIEW_PAD;
  return Math.max(
    0,
    Math.min(rows - 1, Math.floor(((y - PREVIEW_PAD) * Math.max(1, rows)) / room)),
  );
}

/** Where a slice is drawn, in pixels of the plot; null: in no row of this region. Rows that are scrolled out lie outside
 * [region.top, region.bottom). `isOwn`: in its lane, not in something closed around it. */
export interface Spot {
  top: number;
  bottom: number;
  item: Item;
  isOwn: boolean;
}

export function spotOf(
  scene: Scene,
  region: Region,
  lanes: RankLanes,
  lane: number,
  row: number,
): Spot | null {
  const item = scene.tree.itemOfLane(lanes, lane, region.isPins);
  if (item === undefined) {
    return null;
  }
  const isOwn = item.kind === "lane" && item.node === lanes.nodeOfLane(lane);
  const [top, bottom] = isOwn ? rowSpan(item, row) : [4, Math.min(item.height, HEADER_PX) - 4];
  const at = item.y - region.scroll + region.top;
  return { top: at + top, bottom: at + bottom, item, isOwn };
}

/** The rank whose lanes are at the top of the list when its own row is above it: it stays in sight until the next rank pushes it away. */
export function stuckRank(region: Region, first: number): { item: Item; top: number } | null {
  const { items, scroll } = region;
  let at = first;
  while (at >= 0 && items[at]?.kind !== "rank" && items[at]?.kind !== "host") {
    at--;
  }
  const item = items[at];
  if (item?.kind !== "rank" || item.y >= scroll) {
    return null;
  }
  let next = first + 1;
  while (next < items.length && items[next].y < scroll + HEADER_PX && items[next].node >= 0) {
    next++;
  }
  const pushed = items[next];
  const isHead = ["rank", "unread", "host"].includes(pushed?.kind ?? "");
  return { item, top: isHead ? Math.min(0, pushed.y - scroll - HEADER_PX) : 0 };
}
