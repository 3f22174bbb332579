/** What the Pipeline page says of a simulation, and what other pages bring to it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rank } from "../src/api/types";
import { comparedText } from "../src/pages/pipeline_figures";
import {
  choice as chosen,
  loaded,
  showPipelineOf,
  type Loaded,
  type Simulated,
} from "../src/pages/pipeline_state";
import { changedBy } from "../src/panels/number_field";
import { ranksIn } from "../src/pages/ready_rank";
import { numbersOf } from "../src/pipeline/panels";
import { ENGLISH } from "../src/pipeline/texts";
import { chartOf } from "./helpers";

test("a simulated step is compared with the replay of the same step, and beside it with what was measured", () => {
  const simulated = (
    step_ns: number,
    replayed_ns?: number,
    differs: Simulated["differs"] = [],
  ): Simulated =>
    ({
      reply: { step_ns, replayed_ns, replayed_bubble: 0.21, used: { schedule: "dualpipe" } },
      under: "form",
      differs,
    }) as unknown as Simulated;
  const measured = { stepNs: 973e6, bubble: 0.2 };
  assert.equal(
    comparedText(simulated(967e6, 996.3e6), measured),
    "dualpipe 967 ms: 29.3 ms (2.9 %) less than the same ops replayed in their own schedule, 996 ms with a bubble of 21.0 %; measured 973 ms with a bubble of 20.0 %",
  );
  assert.match(comparedText(simulated(1010e6, 996e6), null), /14\.0 ms \(1\.4 %\) more .* 996 ms/);
  assert.match(comparedText(simulated(996e6, 996e6), measured), /as long as .*; measured 973 ms/);
  assert.match(
    comparedText(simulated(967e6, 996.3e6, ["durations"]), measured),
    /less than what ran, .*\(durations differ\); measured/,
    "they are not the same ops",
  );
  assert.equal(comparedText(simulated(996e6), measured), "", "nothing was measured");
});

test("a field of durations takes a change of what was measured", () => {
  assert.equal(changedBy("-10 %", 20)?.toFixed(6), "18.000000");
  assert.equal(changedBy("\u221225%", 20), 15);
  assert.equal(changedBy("+50%", 20), 30);
  assert.equal(changedBy("x0.9", 20), 18);
  assert.equal(changedBy("×1.5", 20), 30);
  assert.deepEqual(
    ["10 %", "18", "x", "", "-10"].map((text) => changedBy(text, 20)),
    [null, null, null, null, null],
    "a share without a sign may be either",
  );
});

test("what numbers on blocks mean is told of the chart that it is true of", () => {
  const [measured, other] = [
    "op 12 is microbatch 0 of chunk 1",
    "op 8 is microbatch 0 of chunk 1",
  ].map((numbers) => ({ ...chartOf([{ start: 0, end: 1 }]), numbers }));
  const plain = { ...measured, numbers: "" };
  assert.deepEqual(numbersOf(measured, null, ENGLISH), [measured.numbers]);
  assert.deepEqual(numbersOf(measured, measured, ENGLISH), [measured.numbers]);
  const own = `measured: ${measured.numbers}`;
  assert.deepEqual(numbersOf(measured, other, ENGLISH), [own, `theory: ${other.numbers}`]);
  assert.deepEqual(numbersOf(measured, plain, ENGLISH), [own]);
  assert.deepEqual(numbersOf(plain, plain, ENGLISH), []);
});

test("what is of one capture waits for its ranks alone", () => {
  const all = [0, 0, 1].map((cluster, rank) => ({ cluster, rank }) as Rank);
  assert.deepEqual(
    ranksIn(all, 0).map((r) => r.rank),
    [0, 1],
  );
});

test("a rank that is chosen elsewhere brings its pipeline", () => {
  const chart = {
    ...chartOf([]),
    ranks: [0, 1].map((n) => ({ rank: n + 7, pipeline: n, stage: 0 })),
  };
  loaded.set({ chart, view: { step: 1, pipeline: 0 } } as unknown as Loaded);
  chosen.set({ step: 2, pipeline: 0, byPhase: false });
  showPipelineOf(8);
  assert.deepEqual(chosen.get(), { step: 2, pipeline: 1, byPhase: false });
  loaded.set(null);
});
