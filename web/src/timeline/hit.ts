/** What is under the pointer. */
import type { Rank } from "../api/types";
import type { Ns } from "../base/ns";
import { ROW_PX, type Item } from "../model/lanes";
import { laneShift } from "../model/rank_lanes";
import { shiftOf } from "../model/session";
import type { LaneTile } from "../model/tiles";
import type { Viewport } from "../base/viewport";
import { PieceFinder, type TimelineData } from "./data";
import { firstEndingAfter } from "./paint";
import { LANE_PAD, previewRow, type Scene } from "./scene";

export interface SliceHit {
  item: Item;
  rank: Rank;
  lane: number;
  row: number;
  slice: number;
  name: number;
  look: number;
  /** Several slices, of which this is the longest. */
  count: number;
  /** viewNs, as exact as tiles are. */
  from: Ns;
  to: Ns;
}

/** So far beside a slice it is still meant (CSS pixels). */
const NEAR_PX = 3;

/** The band of a step in the header of a rank; viewNs. */
export interface StepBand {
  rank: string;
  from: Ns;
  to: Ns;
}

export class HitFinder {
  private readonly finder: PieceFinder<LaneTile>;

  constructor(
    private readonly scene: Scene,
    data: TimelineData,
  ) {
    this.finder = new PieceFinder(data.slices);
  }

  at(view: Viewport, x: number, y: number): SliceHit | null {
    const found = this.scene.itemAt(y);
    if (found?.item.kind !== "lane") {
      return null;
    }
    const { item } = found;
    const rank = item.rank!;
    const node = item.lanes!.nodes[item.node];
    const shift = laneShift(rank, item.lanes!, item.node);
    const row = item.isOpen
      ? Math.min(item.rows - 1, Math.floor((found.y - LANE_PAD) / ROW_PX))
      : previewRow(found.y, node.rows);
    if (row < 0) {
      return null;
    }
    const n = this.finder.find(rank.key, node.lane, shift, view, this.scene.scale, false);
    let best: SliceHit | null = null;
    let least = NEAR_PX * this.scene.scale;
    const at = x * this.scene.scale;
    for (let p = 0; p < n; p++) {
      const piece = this.finder.get(p);
      const { tile } = piece;
      if (row >= tile.rowAt.length - 1) {
        continue;
      }
      const end = tile.rowAt[row + 1];
      for (
        let i = firstEndingAfter(
          tile.end,
          tile.rowAt[row],
          end,
          (at - least - piece.at) / piece.perBucket,
        );
        i < end;
        i++
      ) {
        const x0 = piece.at + tile.start[i] * piece.perBucket;
        if (x0 > at + least) {
          break;
        }
        const x1 = piece.at + tile.end[i] * piece.perBucket;
        const far = x0 <= at && at < x1 ? 0 : Math.max(0.01, at < x0 ? x0 - at : at - x1);
        if (far < least || (far === 0 && best === null)) {
          least = far;
          const origin = view.ns(piece.at / this.scene.scale);
          const bucket = 2 ** piece.level;
          best = {
            item,
            rank,
            lane: node.lane,
            row,
            slice: tile.slice[i],
            name: tile.name[i],
            look: tile.look[i],
            count: tile.count[i],
            from: origin + tile.start[i] * bucket,
            to: origin + tile.end[i] * bucket,
          };
        }
      }
    }
    return best;
  }

  /** The step whose band is there, in the header of a rank; viewNs. */
  stepAt(view: Viewport, x: number, y: number): StepBand | null {
    const item = this.scene.itemAt(y)?.item;
    if (item?.kind !== "rank" || item.rank?.steps === undefined) {
      return null;
    }
    const shift = shiftOf(item.rank);
    const at = view.ns(x) - shift;
    const step = item.rank.steps.find(([, start, end]) => start <= at && at < end);
    return step === undefined
      ? null
      : { rank: item.rank.key, from: step[1] + shift, to: step[2] + shift };
  }

  /** The rank that y belongs to, and its shift. */
  rankAt(y: number): { rank: Rank; shift: Ns } | null {
    const rank = this.scene.itemAt(y)?.item.rank ?? null;
    return rank === null ? null : { rank, shift: shiftOf(rank) };
  }
}
