import assert from "node:assert/strict";
import { test } from "node:test";
import { busyIn, slowOf, unpackAlike, type PackedAlike } from "../src/pipeline/alike";

/** Variable-length integers, as src/write/chart/chart_pack.c has them. */
function columnOf(numbers: number[]): string {
  const bytes: number[] = [];
  let last = 0;
  for (const number of numbers) {
    let z = number >= last ? 2 * (number - last) : 2 * (last - number) - 1;
    last = number;
    for (; z >= 0x80; z = Math.floor(z / 0x80)) {
      bytes.push((z % 0x80) | 0x80);
    }
    bytes.push(z);
  }
  return Buffer.from(bytes).toString("base64");
}

/** Three pipelines of four stages in two steps; `busy` by step, pipeline, stage. */
const packed = (busy: number[]): PackedAlike => ({
  near: 0.05,
  ranks: 12,
  pipelines: 3,
  left_out: 0,
  shown: [[1, "0-1", 2, 0.01]],
  steps: [4, 5],
  stages: [0, 1, 2, 3],
  of: [0, 1, 2],
  by: [1, 1, -1],
  busy: columnOf(busy),
});
const EVEN = [100, 101, 130, 100];

test("what stages worked is added up over the steps; what is not known stays so", () => {
  const first = [...EVEN, ...EVEN, ...EVEN].map((ns) => ns + 1);
  const second = [...EVEN, ...EVEN, ...EVEN].map((ns) => 2 * ns + 1);
  second[3] = 0;
  const alike = unpackAlike(packed([...first, ...second]));
  assert.deepEqual([...busyIn(alike, 4)].slice(0, 4), EVEN);
  assert.deepEqual([...busyIn(alike, null)].slice(0, 4), [300, 303, 390, NaN]);
});

test("a stage that is slow in most pipelines, and one that is slow in one", () => {
  const odd = [100, 101, 130, 160];
  const busy = [...EVEN, ...odd, ...EVEN].map((ns) => ns + 1);
  const alike = unpackAlike(packed([...busy, ...busy]));
  const slow = slowOf(alike, busyIn(alike, 5));
  assert.deepEqual(slow.stage, { stage: 2, ns: 130, than: 100 });
  assert.deepEqual(slow.single, [{ pipeline: 1, stage: 3, ns: 160, than: 100 }]);
  assert.equal(slow.more, 0);
});
