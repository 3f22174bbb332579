/** What the timeline draws from: tiles, coverage, counters and names, and how a window of a lane is put together of tiles
 * that are there: its own level where possible, else a coarser or finer one until that comes. */
import { Names } from "../model/names";
import type { Ns } from "../base/ns";
import { lanesOf } from "../model/tree";
import { workingLanes } from "../model/working_lanes";
import {
  counterTiles,
  coverageTiles,
  levelFor,
  MAX_LEVEL,
  sliceTiles,
  tileNs,
  tilesOf,
} from "../model/tiles";
import type { TileStore, Tiles } from "../model/tile_store";
import type { Viewport } from "../base/viewport";
import type { TilePlace } from "./paint";

/** A tile, or a part of one, that is drawn. */
export interface Piece<T> extends TilePlace {
  tile: T;
  level: number;
  /** Nothing of the same lane is drawn left of it. */
  isFirst: boolean;
}

const COARSER = 12;
const FINER = 3;

/** Part of the coverage store that stands for a rank, closed or in the minimap. */
export const RANK_PART = -1;

/** Which lanes a closed row stands for: what works, not what waits or is worked out of the others. */
function coveredLanes(key: string, part: number): number[] {
  const lanes = lanesOf(key);
  if (lanes === undefined) {
    return [];
  }
  return [...workingLanes(lanes, lanes.lanesBelow(part))];
}

export class TimelineData {
  readonly slices;
  readonly coverage;
  readonly counters;
  readonly names;
  /** Parts on screen that were not there in the last frame. */
  nMissing = 0;

  constructor(arrived: () => void, namesArrived: () => void) {
    this.slices = sliceTiles(arrived);
    this.counters = counterTiles(arrived);
    this.coverage = coverageTiles(arrived, coveredLanes);
    this.names = new Names(namesArrived);
  }

  begin(): void {
    this.nMissing = 0;
    this.slices.begin();
    this.counters.begin();
    this.coverage.begin();
  }

  end(): void {
    this.slices.end();
    this.counters.end();
    this.coverage.end();
  }

  stop(): void {
    this.slices.stop();
    this.counters.stop();
    this.coverage.stop();
  }

  get isIdle(): boolean {
    return this.slices.isIdle && this.counters.isIdle && this.coverage.isIdle;
  }
}

/** Finds the pieces of one lane after another; what it returns is good until it is asked again. */
export class PieceFinder<T> {
  private readonly pool: Piece<T>[] = [];
  n = 0;
  nMissing = 0;

  constructor(private readonly store: TileStore<T>) {}

  get(i: number): Piece<T> {
    return this.pool[i];
  }

  /** `scale`: device pixels in one of CSS. `wants`: what is missing is asked for. */
  find(
    rank: string,
    part: number,
    shift: Ns,
    view: Viewport,
    scale: number,
    wants: boolean,
  ): number {
    const { store } = this;
    this.n = 0;
    this.nMissing = 0;
    const level = levelFor(view.nsPerPx / scale);
    const [first, last] = tilesOf(level, view.from - shift, view.to - shift);
    const tiles = store.level(rank, level);
    for (let tile = first; tile <= last; tile++) {
      const found = store.get(tiles, tile, part);
      if (found !== undefined) {
        this.add(found, level, tile, tile, tile + 1, level, shift, view, scale);
        continue;
      }
      this.nMissing++;
      if (wants) {
        store.want(rank, level, tile, part);
      }
      if (!this.coarser(rank, part, level, tile, shift, view, scale)) {
        this.finer(rank, part, level, tile, shift, view, scale);
      }
    }
    if (wants && this.nMissing === 0) {
      // What a small pan needs.
      this.eager(tiles, rank, level, first - 1, part);
      this.eager(tiles, rank, level, last + 1, part);
    }
    return this.n;
  }

  private eager(
    tiles: Tiles<T> | undefined,
    rank: string,
    level: number,
    tile: number,
    part: number,
  ): void {
    if (tile >= 0 && this.store.get(tiles, tile, part) === undefined) {
      this.store.want(rank, level, tile, part, true);
    }
  }

  private coarser(
    rank: string,
    part: number,
    level: number,
    tile: number,
    shift: Ns,
    view: Viewport,
    scale: number,
  ): boolean {
    for (let up = 1; up <= COARSER && level + up <= MAX_LEVEL; up++) {
      const tiles = this.store.level(rank, level + up);
      const at = Math.floor(tile / 2 ** up);
      const found = tiles === undefined ? undefined : this.store.get(tiles, at, part);
      if (found !== undefined) {
        this.add(found, level + up, at, tile, tile + 1, level, shift, view, scale);
        return true;
      }
    }
    return false;
  }

  private finer(
    rank: string,
    part: number,
    level: number,
    tile: number,
    shift: Ns,
    view: Viewport,
    scale: number,
  ): void {
    for (let down = 1; down <= FINER && level - down >= 0; down++) {
      const tiles = this.store.level(rank, level - down);
      if (tiles === undefined) {
        continue;
      }
      const n = 2 ** down;
      let any = false;
      for (let i = 0; i < n; i++) {
        const found = this.store.get(tiles, tile * n + i, part);
        if (found !== undefined) {
          this.add(
            found,
            level - down,
            tile * n + i,
            tile * n + i,
            tile * n + i + 1,
            level - down,
            shift,
            view,
            scale,
          );
          any = true;
        }
      }
      if (any) {
        return;
      }
    }
  }

  /** Tile `at` of `level`, of which tiles [from, to) of `clipLevel` are drawn. */
  private add(
    tile: T,
    level: number,
    at: number,
    from: number,
    to: number,
    clipLevel: number,
    shift: Ns,
    view: Viewport,
    scale: number,
  ): void {
    const size = tileNs(clipLevel);
    const clipFrom = Math.max(0, view.x(from * size + shift) * scale);
    const clipTo = Math.min(view.width * scale, view.x(to * size + shift) * scale);
    if (clipTo <= clipFrom) {
      return;
    }
    const before = this.n > 0 ? this.pool[this.n - 1] : null;
    if (
      before !== null &&
      before.tile === tile &&
      before.level === level &&
      before.clipTo >= clipFrom - 0.001
    ) {
      before.clipTo = clipTo;
      return;
    }
    const isFirst = before === null || before.clipTo < clipFrom - 0.001;
    const place = view.x(at * tileNs(level) + shift) * scale;
    const perBucket = (2 ** level / view.nsPerPx) * scale;
    const there = this.pool[this.n];
    if (there === undefined) {
      this.pool.push({ tile, level, at: place, perBucket, clipFrom, clipTo, isFirst });
    } else {
      there.tile = tile;
      there.level = level;
      there.at = place;
      there.perBucket = perBucket;
      there.clipFrom = clipFrom;
      there.clipTo = clipTo;
      there.isFirst = isFirst;
    }
    this.n++;
  }
}
