/** Level of detail of a lane: how much time of each look groups of 4, 8, 16, ... neighbours hold, so that what is thinner than a
 * pixel costs pixels and not ops; and how long the longest of each 64 is. Made when a lane is first drawn dense. */
import { N_LOOKS } from "./model";
import type { Lane } from "./rows";

/** The smallest groups have 2^LEAST ops. */
export const LEAST = 2;
const BLOCK = 64;
/** A look that is there but took no time: it is drawn all the same. */
const SOMETHING = 1e-3;

export interface Levels {
  /** Looks of the lane. */
  looks: number[];
  /** By level - LEAST, then by place in `looks`: time of each group, ns. Only full groups. */
  times: Float32Array[][];
}

const known = new WeakMap<Lane, Levels>();

export function levelsOf(lane: Lane): Levels {
  let levels = known.get(lane);
  if (levels === undefined) {
    levels = makeLevels(lane);
    known.set(lane, levels);
  }
  return levels;
}

function makeLevels(lane: Lane): Levels {
  const place = new Int8Array(N_LOOKS).fill(-1);
  const looks: number[] = [];
  for (let i = 0; i < lane.n; i++) {
    const look = lane.look[i];
    if (place[look] < 0) {
      place[look] = looks.length;
      looks.push(look);
    }
  }
  const times: Float32Array[][] = [];
  const n = lane.n >> LEAST;
  const first = looks.map(() => new Float32Array(n));
  for (let i = 0, stop = n << LEAST; i < stop; i++) {
    const row = first[place[lane.look[i]]];
    const took = lane.end[i] - lane.start[i];
    row[i >> LEAST] += took > SOMETHING ? took : SOMETHING;
  }
  times.push(first);
  for (let size = n >> 1; size > 0; size >>= 1) {
    const below = times[times.length - 1];
    times.push(
      below.map((row) => {
        const sums = new Float32Array(size);
        for (let i = 0; i < size; i++) {
          sums[i] = row[2 * i] + row[2 * i + 1];
        }
        return sums;
      }),
    );
  }
  return { looks, times };
}

const longest = new WeakMap<Lane, Float64Array>();

/** The longest of each 64. */
export function longestOf(lane: Lane): Float64Array {
  let found = longest.get(lane);
  if (found === undefined) {
    found = new Float64Array(Math.ceil(lane.n / BLOCK));
    for (let i = 0; i < lane.n; i++) {
      const block = Math.floor(i / BLOCK);
      found[block] = Math.max(found[block], lane.end[i] - lane.start[i]);
    }
    longest.set(lane, found);
  }
  return found;
}

export const LONGEST_SHIFT = 6;
