import assert from "node:assert/strict";
import { test } from "node:test";
import { isTop } from "../src/pages/operator";
import { thinned, ticksUpTo, type Bar } from "../src/panels/chart_bars";

const bar = (label: string, value: number, isMarked = false): Bar => ({
  label,
  parts: [value],
  isMarked,
});
const height = (b: Bar): number => b.parts[0] ?? 0;

test("bars of many ranks are thinned to the largest of neighbours, none thinner than two pixels", () => {
  const bars = Array.from({ length: 16384 }, (_, i) => bar(String(i), i === 5000 ? 9 : 1));
  const { bars: shown, each } = thinned(bars, 1000, height);
  assert.equal(each, 33);
  assert.equal(shown.length, Math.ceil(16384 / 33));
  assert.ok(shown.some((b) => b.label === "5000"));
  assert.equal(thinned(bars.slice(0, 500), 1000, height).each, 1);
});

test("the bar that is marked stays, however small", () => {
  const bars = [bar("0", 5), bar("1", 1, true), bar("2", 5), bar("3", 7)];
  const { bars: shown } = thinned(bars, 4, height);
  assert.deepEqual(
    shown.map((b) => b.label),
    ["1", "3"],
  );
});

test("how many operators are shown is any number, or all", () => {
  assert.deepEqual(
    ["all", "1", "37", "0", "-3", "2.5", "", undefined].map((text) => isTop(text)),
    [true, true, true, false, false, false, false, false],
  );
});

test("an axis of bars has three ticks at least, and one at or above the highest bar", () => {
  assert.deepEqual(ticksUpTo(976, 4), [0, 200, 400, 600, 800, 1000]);
  assert.deepEqual(ticksUpTo(800, 4), [0, 200, 400, 600, 800]);
  assert.deepEqual(ticksUpTo(1.003, 5), [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2], "and not at 1.5");
  for (const most of [1, 3, 7.9, 820, 1999, 5001]) {
    const ticks = ticksUpTo(most, 2);
    assert.ok(ticks.at(-1)! <= 1.5 * most, `${most}: ${ticks.join()}`);
    assert.ok(ticks.length >= 3 && ticks.at(-1)! >= most, `${most}: ${ticks.join()}`);
  }
  assert.deepEqual(ticksUpTo(0, 4), [0]);
});
