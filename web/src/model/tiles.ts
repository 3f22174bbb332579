/** Tiles of slices, coverage and counters: which are needed for a window, what they hold, and where they are kept.
 *
 * docs/serve-api.md says how they are written, src/model/lod.h what an entry is. Times in a tile are buckets of 2^level ns
 * from the tile's start. */
import { getBytes, list } from "../api/client";
import type { Ns } from "../base/ns";
import { TileStore, type Part } from "./tile_store";

export const TILE_BUCKETS = 1024;
export const MAX_LEVEL = 52;

const MAGIC_SLICES = 0x31545350;
const MAGIC_COUNTERS = 0x31435350;

/** Entries of one lane in one tile, by row, then start. */
export interface LaneTile {
  n: number;
  start: Float32Array;
  end: Float32Array;
  slice: Uint32Array;
  name: Uint32Array;
  count: Uint32Array;
  row: Uint16Array;
  look: Uint8Array;
  busy: Uint8Array;
  /** Entries of row r are rowAt[r] .. rowAt[r + 1]; rows beyond have none. */
  rowAt: Uint32Array;
}

/** Values of a counter, by bucket; the first may be -1: what holds where the tile begins. */
export interface CounterTile {
  n: number;
  bucket: Int32Array;
  last: Float64Array;
  least: Float64Array;
  most: Float64Array;
}

/** The largest level whose buckets are at most one pixel wide. */
export function levelFor(nsPerPx: number): number {
  if (!(nsPerPx >= 2)) {
    return 0;
  }
  // Math.log2 of 2^k is not always k from below.
  let level = Math.floor(Math.log2(nsPerPx));
  if (2 ** (level + 1) <= nsPerPx) {
    level++;
  } else if (2 ** level > nsPerPx) {
    level--;
  }
  return Math.min(MAX_LEVEL, level);
}

export const bucketNs = (level: number): number => 2 ** level;
export const tileNs = (level: number): number => TILE_BUCKETS * 2 ** level;

/** First and last tile that a span meets; times in rankNs. */
export function tilesOf(level: number, from: Ns, to: Ns): [first: number, last: number] {
  const size = tileNs(level);
  return [Math.floor(from / size), Math.max(Math.floor(from / size), Math.ceil(to / size) - 1)];
}

/** The level at which a span of time is one tile, or two where it lies across a border. */
export function levelOfSpan(span: Ns): number {
  let level = 0;
  while (tileNs(level) < span && level < MAX_LEVEL) {
    level++;
  }
  return level;
}

function rowOffsets(row: Uint16Array): Uint32Array {
  const n = row.length;
  const rows = n === 0 ? 0 : row[n - 1] + 1;
  const at = new Uint32Array(rows + 1);
  let next = 0;
  for (let i = 0; i < n; i++) {
    while (next <= row[i]) {
      at[next++] = i;
    }
  }
  while (next <= rows) {
    at[next++] = n;
  }
  return at;
}

function header(buffer: ArrayBuffer, magic: number): { lanes: Uint32Array; n: number } {
  const head = new Uint32Array(buffer, 0, 4);
  if (head[0] !== magic) {
    throw new Error("not a tile");
  }
  return { lanes: new Uint32Array(buffer, 16, head[1] * 2), n: head[2] };
}

/** Entries of all lanes of a reply, by lane. */
export function readTile(buffer: ArrayBuffer): Map<number, Part<LaneTile>> {
  const { lanes, n } = header(buffer, MAGIC_SLICES);
  let at = 16 + lanes.length * 4;
  const starts = new Float32Array(buffer, at, n);
  const ends = new Float32Array(buffer, (at += 4 * n), n);
  const slices = new Uint32Array(buffer, (at += 4 * n), n);
  const names = new Uint32Array(buffer, (at += 4 * n), n);
  const counts = new Uint32Array(buffer, (at += 4 * n), n);
  const rows = new Uint16Array(buffer, (at += 4 * n), n);
  const looks = new Uint8Array(buffer, (at += 2 * n), n);
  const busy = new Uint8Array(buffer, at + n, n);
  const found = new Map<number, Part<LaneTile>>();
  let from = 0;
  for (let i = 0; i < lanes.length; i += 2) {
    const to = from + lanes[i + 1];
    const row = rows.subarray(from, to);
    const rowAt = rowOffsets(row);
    found.set(lanes[i], {
      value: {
        n: to - from,
        start: starts.subarray(from, to),
        end: ends.subarray(from, to),
        slice: slices.subarray(from, to),
        name: names.subarray(from, to),
        count: counts.subarray(from, to),
        row,
        look: looks.subarray(from, to),
        busy: busy.subarray(from, to),
        rowAt,
      },
      bytes: (to - from) * 24 + rowAt.length * 4 + 800,
    });
    from = to;
  }
  return found;
}

export function readCounters(buffer: ArrayBuffer): Map<number, Part<CounterTile>> {
  const { lanes, n } = header(buffer, MAGIC_COUNTERS);
  let at = 16 + lanes.length * 4;
  at = (at + 7) & ~7;
  const last = new Float64Array(buffer, at, n);
  const least = new Float64Array(buffer, (at += 8 * n), n);
  const most = new Float64Array(buffer, (at += 8 * n), n);
  const bucket = new Int32Array(buffer, at + 8 * n, n);
  const found = new Map<number, Part<CounterTile>>();
  let from = 0;
  for (let i = 0; i < lanes.length; i += 2) {
    const to = from + lanes[i + 1];
    found.set(lanes[i], {
      value: {
        n: to - from,
        bucket: bucket.subarray(from, to),
        last: last.subarray(from, to),
        least: least.subarray(from, to),
        most: most.subarray(from, to),
      },
      bytes: (to - from) * 28 + 500,
    });
    from = to;
  }
  return found;
}

const NO_SLICES: LaneTile = {
  n: 0,
  start: new Float32Array(0),
  end: new Float32Array(0),
  slice: new Uint32Array(0),
  name: new Uint32Array(0),
  count: new Uint32Array(0),
  row: new Uint16Array(0),
  look: new Uint8Array(0),
  busy: new Uint8Array(0),
  rowAt: new Uint32Array(1),
};
const NO_POINTS: CounterTile = {
  n: 0,
  bucket: new Int32Array(0),
  last: new Float64Array(0),
  least: new Float64Array(0),
  most: new Float64Array(0),
};

/** Lanes that a reply does not name have nothing there. */
function complete<T>(
  found: Map<number, Part<T>>,
  asked: number[],
  nothing: T,
): Map<number, Part<T>> {
  for (const lane of asked) {
    if (!found.has(lane)) {
      found.set(lane, { value: nothing, bytes: 0 });
    }
  }
  return found;
}

const MEGABYTE = 1 << 20;

export function sliceTiles(arrived: () => void): TileStore<LaneTile> {
  return new TileStore<LaneTile>({
    arrived,
    maxBytes: 96 * MEGABYTE,
    fetch: async (rank, level, tile, lanes, signal) =>
      complete(
        readTile(await getBytes("tiles", { rank, level, tile, lanes: list(lanes) }, signal)),
        lanes,
        NO_SLICES,
      ),
  });
}

export function counterTiles(arrived: () => void): TileStore<CounterTile> {
  return new TileStore<CounterTile>({
    arrived,
    maxBytes: 16 * MEGABYTE,
    maxRequests: 3,
    fetch: async (rank, level, tile, lanes, signal) =>
      complete(
        readCounters(await getBytes("counters", { rank, level, tile, lanes: list(lanes) }, signal)),
        lanes,
        NO_POINTS,
      ),
  });
}

/** `lanesOf` says which lanes a part (a node of the tree, -1: all that the minimap shows) stands for. */
export function coverageTiles(
  arrived: () => void,
  lanesOf: (rank: string, part: number) => number[],
): TileStore<Uint8Array> {
  return new TileStore<Uint8Array>({
    arrived,
    maxBytes: 8 * MEGABYTE,
    maxParts: 1,
    maxRequests: 4,
    fetch: async (rank, level, tile, parts, signal) => {
      const lanes = lanesOf(rank, parts[0]);
      const value =
        lanes.length === 0
          ? new Uint8Array(TILE_BUCKETS)
          : new Uint8Array(
              await getBytes("coverage", { rank, level, tile, lanes: list(lanes) }, signal),
            );
      return new Map([[parts[0], { value, bytes: value.length }]]);
    },
  });
}
