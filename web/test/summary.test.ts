/** The Summary page: what steps are made of, of the tables that say it; and the short form of findings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rank, Table } from "../src/api/types";
import { leadOf, shortName } from "../src/pages/findings_model";
import { confusions } from "../src/base/colour_vision";
import { seriesOf } from "../src/pages/summary_bars";
import { isThinned } from "../src/model/notes";
import { start } from "../src/pages/parallel_form";
import { endToEnd, entriesOf } from "../src/pages/summary_model";

const table = (name: string, columns: Table["columns"], rows: Table["rows"]): Table => ({
  name,
  title: "",
  total: rows.length,
  offset: 0,
  columns,
  rows,
});

const us = (name: string): Table["columns"][0] => [name, "real", "us", false];
const STEPS = table(
  "ClusterStepTraceTime",
  [
    ["step", "text", "", false],
    ["type", "text", "", false],
    ["index", "text", "", false],
    us("computing"),
    us("communication_not_overlapped"),
    us("free"),
    us("preparing"),
    us("bubble"),
    ["pp_index", "int", "", false],
  ],
  [
    ["1", "rank", "0", 170, 30, 60, 1, 30, 0],
    ["1", "rank", "1", 170, 30, 60, 1, 30, 0],
    ["1", "stage", "(0,1)", 170, 30, 60, 1, 30, null],
  ],
);
const SUMMARY = table(
  "ClusterTimeSummary",
  [["rank", "int", "", false], ["step", "int", "", false], us("stepTime")],
  [
    [0, 1, 330],
    [1, 1, 332],
  ],
);
const BUBBLE = table(
  "PipelineBubble",
  [
    ["step", "int", "", false],
    ["rank", "int", "", false],
    ["bubble", "int", "ns", false],
  ],
  [
    [1, 0, 90_000],
    [1, 1, 80_000],
  ],
);

test("a step is as long as its table says: what lies behind its last work is a part of it", () => {
  const [first, , stage] = entriesOf(STEPS, { summary: SUMMARY, bubble: BUBBLE });
  assert.equal(first.values.step_time, 330_000);
  assert.equal(first.values.after, 330_000 - (170 + 30 + 60 + 1) * 1000);
  assert.equal(endToEnd(first.values), 330_000);
  assert.equal(stage.values.step_time, 332_000, "the largest of its ranks");
});

test("what nobody says of a step is not known", () => {
  const [first] = entriesOf(STEPS);
  assert.equal(first.values.step_time, null);
  assert.equal(first.values.after, null);
  assert.equal(first.values.pipeline_bubble, null);
  assert.equal(endToEnd(first.values), 261_000, "the parts that are known");
});

test("receives and the bubble of the pipeline are two figures", () => {
  const [first, , stage] = entriesOf(STEPS, { summary: SUMMARY, bubble: BUBBLE });
  assert.equal(first.values.receives, 30_000);
  assert.equal(first.values.pipeline_bubble, 90_000);
  assert.equal(stage.values.pipeline_bubble, 90_000);
});

test("a stage has the number of the place of its ranks", () => {
  assert.equal(entriesOf(STEPS)[2].pp, 0);
});

test("a finding begins with its first sentence, which is whole however long it is", () => {
  assert.deepEqual(leadOf("One. Two."), ["One.", "Two."]);
  assert.deepEqual(leadOf("It takes 1.5 ms, see docs/bubble.md."), [
    "It takes 1.5 ms, see docs/bubble.md.",
    "",
  ]);
  assert.deepEqual(leadOf("第一句。第二句。"), ["第一句。", "第二句。"]);
  const long = `${"word ".repeat(30)}(60.1 ms of it in the bubble); what follows: this.`;
  assert.deepEqual(leadOf(`${long} Another.`), [long, "Another."]);
  const wide = `${"很长的一句话".repeat(30)}（其中 60.1 ms）；后半句：到此。`;
  assert.deepEqual(leadOf(`${wide}第二句。`), [wide, "第二句。"]);
});

test("what lies before and after the work is told from the rest of a bar, in any vision", () => {
  const themes = [
    {
      lanes: ["#2F6BD0", "#F2994A", "#C2303F", "#DDE2E8"],
      kinds: [..."\0".repeat(8)].concat("#8C94A7"),
      phases: ["", "#8FC6F5"],
    },
    {
      lanes: ["#4F8BF0", "#F7AE6B", "#E0525F", "#48525D"],
      kinds: [..."\0".repeat(8)].concat("#8B92A4"),
      phases: ["", "#99CFFE"],
    },
  ]; // src/write/out/theme.c
  for (const theme of themes) {
    const series = seriesOf(theme);
    assert.equal(series[0].name, "Before the first work");
    assert.deepEqual(confusions(series.map((s) => s.colour)), []);
  }
});

test("a long name keeps its beginning and its end", () => {
  assert.equal(shortName("hcom_send", 12), "hcom_send");
  assert.equal(shortName("hcom_receive__875_32_1", 12), "hcom_r\u2026_32_1");
  assert.equal(shortName("hcom_receive__875_32_1", 12).length, 12);
});

test("the form of sizes begins with ones that make the whole job, captured or not", () => {
  assert.deepEqual(start(null, "megatron", {}, 128).sizes, {
    pp: 1,
    tp: 1,
    cp: 1,
    ep: 1,
    moetp: 1,
    dp: 128,
  });
  assert.equal(start(null, "megatron", { pp: 4, tp: 2 }, 128).sizes.dp, 16);
  assert.equal(start(null, "megatron", { dp: 3 }, 128).sizes.dp, 3, "what the capture says");
});

test("of ranks that are thinned out nobody says how they compare", () => {
  const rank = {
    oddities: [{ id: "thinned", severity: "loss", text: "", n: 1 }],
  } as unknown as Rank;
  assert.equal(isThinned(rank), true);
  assert.equal(isThinned({} as Rank), false);
});
