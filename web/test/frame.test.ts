/** What the frame and the tables do without a document. */
import { captureFacts, hostsOf } from "../src/pages/capture_facts";
import { choice, loaded, wantedWindow, writeState } from "../src/pages/pipeline_state";
import { chartOf } from "./helpers";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import type { Cell, Rank, Session, Table } from "../src/api/types";
import { ranks, tab } from "../src/model/session";
import { reader } from "../src/pages/data";
import {
  clashes,
  dispatch,
  keyOf,
  pageOf,
  refusalOf,
  register,
  type Command,
} from "../src/model/commands";
import { GESTURES } from "../src/app/gestures";
import { fits, parseSpan } from "../src/app/palette_model";
import { tabsShown } from "../src/app/tabs";
import { formatHash, idsOf, keysOf, parseHash } from "../src/model/url_state";
import { confusions, distance } from "../src/base/colour_vision";
import { Atom } from "../src/base/atom";
import { lowerUnless, notices, notify } from "../src/model/notices";
import {
  bytesText,
  exactText,
  parseRange,
  restAfter,
  shownAs,
  valueText,
  withDigits,
} from "../src/base/format";
import { duration, fixed, short, signed } from "../src/base/time";
import { SvgPen, ticksOf } from "../src/base/pen";
import {
  loadingOf,
  loadingOfEach,
  missingOf,
  odditiesOf,
  ranksText,
  whyNoLinks,
  thinnedText,
} from "../src/model/notes";
import {
  choose,
  columnsOf,
  compareCells,
  csvOf,
  filterOf,
  nextSort,
  Rows,
  tabbedOf,
  treeOf,
  passingIn,
  treeOrder,
  closedAtFirst,
  indentOf,
  rowsAbove,
  type Query,
  type Column,
} from "../src/panels/table_model";
import { extremesOf } from "../src/panels/table_columns";
import { fit, isLongName } from "../src/panels/table_layout";
import { formatQuery, parseQuery, sameQuery } from "../src/panels/table_state";
import {
  cellWord,
  commTypeWord,
  stepWord,
  columnWord,
  language,
  rankWord,
  sliceWord,
  t,
  tableText,
  WORDS_FOR_TESTS,
  inBrackets,
  dateLocale,
} from "../src/words";
import { partName, partPath } from "../src/words/parts";
import { argumentHint, cellHint, columnHint, HINTS_FOR_TESTS } from "../src/words/hints";

const ns = (values: number[], name = "total", type: "int" | "real" = "int") =>
  shownAs(name, type, "ns", false, values);

/** As they stand under one another. */
const column = (values: number[], unit = "ns", type: "int" | "real" = "int") => {
  const shown = shownAs("total", type, unit, false, values);
  return values.map((v) => valueText(v, shown));
};

test("one number of decimals to a column; what is too small for it is said as that, nothing is 0", () => {
  assert.deepEqual(column([412_300_000, 90_000_000, 8, 0]), ["412.3", "90.0", "<0.1", "0"]);
  assert.deepEqual(column([90_040_000, 90_000_000, 85_100_000]), ["90.0", "90.0", "85.1"]);
  assert.deepEqual(column([12_000_000, 3_000_000, 2_500_000, -8]), [
    "12.00",
    "3.00",
    "2.50",
    "\u2212<0.01",
  ]);
  assert.deepEqual(column([0.0123, 0.5, 8e-6, 0], "", "real"), ["0.012", "0.500", "<0.001", "0"]);
  assert.deepEqual(column([1.2e-5, 4e-6], "", "real"), ["0.0000120", "0.0000040"], "all of it");
  assert.deepEqual(column([16, 8, 1500], "", "real"), ["16", "8", "1500"], "whole numbers");
  assert.deepEqual(column([8, 1200, 900], "bytes"), ["8", "1200", "900"], "no parts of a byte");
  assert.deepEqual(column([1_250, 730, 90], "ns"), ["1250", "730", "90"], "nor of a ns");
});

test("values that differ by little have the digits to tell them apart", () => {
  assert.deepEqual(column([85_001_000, 85_020_000]), ["85.001", "85.020"]);
  assert.deepEqual(column([18.2, 18.21, 18.3], "GB/s", "real"), ["18.20", "18.21", "18.30"]);
});

test("rows that come later may ask for more digits, never for fewer or another unit", () => {
  const shown = ns([412_300_000, 390_000_000]);
  assert.equal(valueText(400_000, shown), "<1");
  const more = withDigits(shown, [400_000, 250_000]);
  assert.deepEqual([more.unit, valueText(400_000, more)], ["ms", "0.400"]);
  assert.equal(withDigits(more, [412_300_000]), more);
});

test("a 0 stands where the digits before the point of others do", () => {
  const shown = ns([12_400_000, 3_000_000]);
  assert.equal(restAfter("0", shown), ".0");
  assert.equal(restAfter("3.0", shown), "");
  assert.equal(restAfter("\u2013", shown), "");
});

test("one unit to a column, three digits, all of them on hover", () => {
  const shown = ns([12_400_000, 3_000_000, 800_000]);
  assert.equal(shown.unit, "ms");
  assert.equal(valueText(12_412_345, shown), "12.41");
  assert.equal(valueText(812_000, shown), "0.81");
  assert.equal(valueText(0, shown), "0");
  assert.equal(valueText(null, shown), "–");
  assert.equal(exactText(12_412_345, shown, "ns"), "12\u2009412\u2009345 ns");
  assert.equal(valueText(98_765_432_100, shown), "98\u2009765.43");
  assert.equal(ns([396_199_000, 7_000, 5_000, 3_000]).unit, "ms", "the largest stays readable");
  assert.equal(ns([96_199_000, 7_000, 5_000, 3_000]).unit, "µs");
});

test("numbers below 0 have the page's minus, everywhere; filters take both", () => {
  const shown = ns([-12_400_000, 3_000_000]);
  assert.equal(valueText(-12_412_345, shown), "\u221212.4");
  assert.equal(exactText(-12_412_345, shown, "ns"), "\u221212\u2009412\u2009345 ns");
  assert.equal(valueText(-3, shownAs("shift", "int", "", true, [-3])), "\u22123");
  assert.equal(duration(-27_000_000), "\u221227.0 ms");
  assert.equal(duration(-5), "\u22125 ns");
  assert.equal(fixed(-0.1154, 3), "\u22120.115");
  assert.equal(fixed(-0.0004, 3), "0.000", "what rounds to zero has no sign");
  // Exactly halfway: as the program's printf has it, the even neighbour. 0.15 is a little less, 0.35 a little less, 1.005 a little less.
  const halves: [number, number, string][] = [
    [6.25, 1, "6.2"],
    [38.75, 1, "38.8"],
    [-6.25, 1, "\u22126.2"],
    [0.5, 0, "0"],
    [1.5, 0, "2"],
    [2.5, 0, "2"],
    [0.125, 2, "0.12"],
    [0.15, 1, "0.1"],
    [1.005, 2, "1.00"],
    [2 ** 60, 0, "1152921504606846976"],
  ];
  halves.forEach(([value, decimals, text]) => assert.equal(fixed(value, decimals), text));
  assert.equal(duration(38_250_000), "38.2 ms");
  assert.equal(short(-0.25), "\u22120.25");
  assert.equal(t("whatif.threshold", -0.5).includes("-"), false);
  for (const minus of ["-", "\u2212"]) {
    assert.deepEqual(parseRange(`${minus}3..${minus}1`, shown), [-3e6, -1e6]);
  }
});

test("a mark that is a dict is shown by its name", () => {
  assert.equal(sliceWord("{'name': 'forward_step'}"), "forward_step");
  assert.equal(
    sliceWord("{'name': 'backward_step', 'current_microbatch': 3, 'stage': 5}"),
    "backward_step, current_microbatch 3, stage 5",
  );
  assert.equal(sliceWord('{"name": "a, b", "of": "c"}'), "a, b, of c");
  assert.equal(sliceWord("void f<{'name': 1}>"), "void f<{'name': 1}>");
});

test("long names keep their ends, sentences and numbers do not", () => {
  for (const name of [
    "aten::convolution_backward_overrideable",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >",
  ]) {
    assert.ok(isLongName(name), name);
  }
  for (const other of [
    "Conv2DBackpropFilter",
    "the stage waits for the one before it",
    "前向传播中的等待时间说明很长很长很长很长",
  ]) {
    assert.ok(!isLongName(other), other);
  }
});

test("parts of a device's time have words in both languages, by what they lie in", () => {
  const group = "Communication(Not Overlapped)/90.91.105.46%eth0_60000_0_17";
  assert.equal(partName("Computing/Conv/Backward/Cube", "Cube"), "Cube");
  language.set("zh");
  try {
    assert.equal(partName("Computing", "Computing"), "计算");
    assert.equal(partName("Computing/Conv/Backward", "Backward"), "反向");
    assert.equal(partPath("Computing/Conv/Backward"), "计算/卷积/反向");
    assert.equal(partName("Free", "Free"), "空闲");
    assert.equal(
      partPath("Communication(Not Overlapped)/unnamed group"),
      "未掩盖通信/未命名通信域",
    );
    assert.equal(partName(group, "90.91.105.46%eth0_60000_0_17"), "90.91.105.46%eth0_60000_0_17");
    assert.equal(partName(`${group}/No task`, "No task"), "无任务");
    assert.equal(partPath(`${group}/No task`), `未掩盖通信/90.91.105.46%eth0_60000_0_17/无任务`);
    assert.equal(
      partName("Communication(Not Overlapped)/Forward", "Forward"),
      "Forward",
      "a communicator of that name",
    );
  } finally {
    language.set("en");
  }
});

test("points in time keep their digits", () => {
  const shown = ns([1_000_000, 912_345_678], "start");
  assert.equal(shown.unit, "ms");
  assert.equal(valueText(912_345_678, shown), "912.345678");
  assert.equal(ns([1], "start time").kind, "instant");
  assert.equal(ns([1], "restarted").kind, "time");
  assert.equal(ns([1_435_739_222], "time").kind, "time");
  assert.equal(valueText(1_435_739_222, ns([1_435_739_222], "time")), "1.44");
});

test("a column of zeros has the unit that its like have", () => {
  assert.equal(ns([0, 0]).unit, "ms");
  assert.equal(valueText(0, ns([0, 0])), "0");
  assert.equal(shownAs("dur", "real", "s", false, [0]).unit, "s");
});

test("microseconds, bytes, shares, numbers that name something", () => {
  assert.equal(valueText(1500, shownAs("dur", "real", "us", false, [1500, 2500])), "1.50");
  assert.equal(
    exactText(1500.5, shownAs("dur", "real", "us", false, [1500]), "us"),
    "1\u2009500\u2009500 ns",
  );
  const bytes = shownAs("size", "int", "bytes", false, [2_000_000]);
  assert.equal(valueText(2_621_440, bytes), "2.50");
  assert.equal(bytes.unit, "MiB", "binary units have their own names");
  const carried = shownAs("transit size", "real", "MB", false, [12]);
  assert.equal(
    `${valueText(12.5, carried)} ${carried.unit}`,
    "12.5 MB",
    "of links, as the profiler says",
  );
  assert.equal(bytesText(1_601_175_552), "1.49 GiB");
  assert.equal(bytesText(100), "100 B");
  assert.equal(valueText(12.345, shownAs("ratio", "real", "%", false, [])), "12.3");
  assert.equal(valueText(1234567, shownAs("task id", "int", "", false, [])), "1234567");
  assert.equal(valueText(1234567, shownAs("count", "int", "", false, [])), "1\u2009234\u2009567");
  assert.equal(valueText(1234567, shownAs("start", "int", "ns", true, [])), "1234567");
});

test("filters of numbers, in the unit shown or their own", () => {
  const shown = ns([5_000_000]);
  assert.deepEqual(parseRange("10..20", shown), [10e6, 20e6]);
  assert.deepEqual(parseRange("10 - 20us", shown), [10e3, 20e3]);
  assert.deepEqual(parseRange(">5", shown)?.[0], 5e6);
  assert.deepEqual(parseRange("<= 3us", shown)?.[1], 3e3);
  assert.deepEqual(parseRange("12", shownAs("count", "int", "", false, [])), [12, 12]);
  const [least, most] = parseRange("12.4", shown)!;
  assert.ok(least <= 12_412_345 && most >= 12_412_345, "what is shown with three digits is met");
  assert.equal(parseRange("many", shown), null);
  assert.equal(parseRange("5 GB", shown), null);
  assert.deepEqual(parseRange("> 1 MB", shownAs("size", "int", "bytes", false, [5e9]))?.[0], 1e6);
  assert.deepEqual(
    parseRange("> 1MiB", shownAs("size", "int", "bytes", false, [5e9]))?.[0],
    2 ** 20,
  );
});

const table: Table = {
  name: "t",
  title: "",
  total: 4,
  offset: 0,
  columns: [
    ["name", "text", "", false],
    ["total", "int", "ns", false],
  ],
  rows: [
    ["b10", 300],
    ["b9", null],
    ['a, "x"', 100],
    ["B1", 200],
  ],
};
const columns = columnsOf(table);
const query = (sort: Query["sort"], filter: Query["filter"] = {}): Query => ({ sort, filter });
const firsts = (rows: Cell[][]): Cell[] => rows.map((r) => r[0]!);

test("a local table: order, nothing last, filters", () => {
  assert.deepEqual(firsts(choose(table, columns, query({ column: "total", desc: true }))), [
    "b10",
    "B1",
    'a, "x"',
    "b9",
  ]);
  assert.deepEqual(firsts(choose(table, columns, query({ column: "total", desc: false }))), [
    'a, "x"',
    "B1",
    "b10",
    "b9",
  ]);
  assert.deepEqual(firsts(choose(table, columns, query({ column: "name", desc: false }))), [
    'a, "x"',
    "B1",
    "b9",
    "b10",
  ]);
  assert.deepEqual(firsts(choose(table, columns, query(null, { name: "B" }))), ["b10", "b9", "B1"]);
  assert.deepEqual(firsts(choose(table, columns, query(null, { name: "!B1" }))), ["b9", 'a, "x"']);
  assert.deepEqual(firsts(choose(table, columns, query(null, { name: "!=B1" }))).length, 3);
  assert.deepEqual(firsts(choose(table, columns, query(null, { name: "!=" }))).length, 4);
  assert.deepEqual(firsts(choose(table, columns, query(null, { name: "!" }))).length, 4);
  assert.deepEqual(firsts(choose(table, columns, query(null, { total: "> 150" }))), ["b10", "B1"]);
  assert.deepEqual(filterOf(query(null, { total: "much" }), columns), {
    values: {},
    wrong: ["total"],
  });
  assert.equal(compareCells(null, 1, true), 1);
});

test("headers turn the order round, then leave it", () => {
  const [name, total] = columns as [(typeof columns)[0], (typeof columns)[0]];
  assert.deepEqual(nextSort(query(null), total), { column: "total", desc: true });
  assert.deepEqual(nextSort(query({ column: "total", desc: true }), total), {
    column: "total",
    desc: false,
  });
  assert.equal(nextSort(query({ column: "total", desc: false }), total), null);
  assert.deepEqual(nextSort(query(null), name), { column: "name", desc: false });
});

test("a tree keeps its shape: siblings in order, parents of what is found, closed ones closed", () => {
  const rows: Cell[][] = [
    ["all", 0, 100],
    ["x", 1, 30],
    ["x1", 2, 10],
    ["x2", 2, 20],
    ["y", 1, 70],
  ];
  const of: Table = {
    name: "o",
    title: "",
    total: 5,
    offset: 0,
    columns: [
      ["name", "text", "", false],
      ["level", "int", "", false],
      ["total", "int", "ns", false],
    ],
    rows,
  };
  const cols = columnsOf(of);
  const tree = treeOf(rows, 1);
  assert.deepEqual(
    tree.map((r) => [r.depth, r.parent, r.hasChildren]),
    [
      [0, -1, true],
      [1, 0, true],
      [2, 1, false],
      [2, 1, false],
      [1, 0, false],
    ],
  );
  assert.deepEqual(
    treeOrder(tree, cols, query({ column: "total", desc: true }), new Set()),
    [0, 4, 1, 3, 2],
  );
  assert.deepEqual(treeOrder(tree, cols, query(null, { name: "x2" }), new Set()), [0, 1, 3]);
  assert.deepEqual(treeOrder(tree, cols, query(null, { name: "=X2" }), new Set()), []);
  assert.deepEqual(treeOrder(tree, cols, query(null, { name: "=x2" }), new Set()), [0, 1, 3]);
  assert.deepEqual(treeOrder(tree, cols, query(null), new Set([1])), [0, 1, 4]);
  assert.equal(passingIn(tree, cols, query(null, { name: "x2" })), 1, "those above it do not pass");
});

test("files of a table", () => {
  assert.equal(
    csvOf(
      ["name", "n"],
      [
        ['a, "x"', 1],
        [null, 2],
        ["=1+2", -3],
        ["-4.5", 5],
        ["-", 6],
      ],
    ),
    'name,n\r\n"a, ""x""",1\r\n,2\r\n\'=1+2,-3\r\n-4.5,5\r\n-,6\r\n',
  );
  assert.equal(tabbedOf(["a", "b"], [["x\ty", null]]), "a\tb\nx y\t");
});

test("rows come as they are needed, and what was there stays until the new order is here", async () => {
  const asked: [number, string | undefined][] = [];
  const rows = new Rows(
    (q, _f, offset, limit) => {
      asked.push([offset, q.sort?.column]);
      const all = Array.from({ length: 1000 }, (_, i) => [`n${i}`, i] as Cell[]);
      const page = all.slice(offset, offset + limit);
      return Promise.resolve({ ...table, total: 1000, offset, rows: page });
    },
    () => undefined,
  );
  const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 0));
  rows.start(query(null));
  await settle();
  assert.equal(rows.total, 1000);
  assert.equal(rows.row(500), undefined);
  rows.need(500, 540);
  await settle();
  assert.deepEqual(rows.row(500), ["n500", 500]);
  rows.start(query({ column: "total", desc: true }));
  assert.deepEqual(rows.row(500), ["n500", 500]);
  await settle();
  assert.equal(rows.row(500), undefined);
  assert.deepEqual(asked, [
    [0, undefined],
    [400, undefined],
    [0, "total"],
  ]);
});

test("of a long tree the heaviest path is open at first; deep rows keep their names in sight", () => {
  // a (0) > b (1) > c (2); beside b the heavier d (3) > e (4); then fifty alone
  const rows: Cell[][] = [
    ["a", 9, 0],
    ["b", 3, 1],
    ["c", 3, 2],
    ["d", 6, 1],
    ["e", 6, 2],
    ...Array.from({ length: 50 }, (_, i): Cell[] => [`x${i}`, 1, 0]),
  ];
  const tree = treeOf(rows, 2);
  assert.deepEqual([...closedAtFirst(tree, 1)], [1], "b is closed, a and d are open");
  assert.deepEqual([...closedAtFirst(treeOf(rows.slice(0, 5), 2), 1)], [], "a short one is open");
  assert.deepEqual(rowsAbove(tree, 4), [3, 0]);
  assert.ok(indentOf(2) > indentOf(1) && indentOf(12) > indentOf(11));
  assert.ok(indentOf(100) <= 200);
});

test("numbers that are read against one another have one unit", () => {
  const units = (names: string[], row: Cell[]): string[] =>
    columnsOf({
      ...table,
      columns: names.map((name): Table["columns"][0] => [name, "int", "ns", false]),
      rows: [row],
    }).map((c) => c.shown.unit);
  assert.deepEqual(units(["new", "base", "lost"], [5e6, 4e6, 900]), ["µs", "µs", "µs"]);
  assert.deepEqual(
    units(["step time", "gain"], [1.2e9, 20e6]),
    ["ms", "ms"],
    "1200 ms, not 1.2 s beside 20 ms",
  );
  assert.deepEqual(units(["step time", "gain"], [12e9, 20e6]), ["s", "s"], "one is too wide in ms");
  assert.deepEqual(
    units(["host total", "host self", "device total", "device self"], [2.5e9, 30e6, 7e6, 90e3]),
    ["ms", "ms", "µs", "µs"],
    "of a call total and self",
  );
  assert.deepEqual(
    units(["total", "total base", "total difference", "mean"], [5e9, 4e9, 9e3, 2e3]),
    ["s", "s", "s", "µs"],
  );
  assert.deepEqual(
    units(["total", "average", "min", "max", "average base"], [5e9, 20e6, 19531e3, 21e6, 900]),
    ["s", "ms", "ms", "ms", "ms"],
  );
  assert.deepEqual(units(["max lateness", "max"], [5e6, 2e3]), ["ms", "µs"], "of something else");
  assert.deepEqual(units(["total", "mean"], [5e9, 2e3]), ["s", "µs"]);
  const half = (rows: Cell[][]): Table => ({
    ...table,
    columns: [["duration", "int", "ns", false]],
    rows,
  });
  const halves = [half([[72.9e6]]), half([[20.257e6], [900]]), half([])];
  const unit = (one: Table, alike?: Table[]): string => columnsOf(one, alike)[0].shown.unit;
  assert.deepEqual(
    halves.map((one) => unit(one, halves)),
    ["ms", "ms", "ms"],
    "of tables that stand side by side",
  );
});

test("a number of one side of a comparison and the same of the other have as many decimals", () => {
  const decimals = (names: string[], ...rows: Cell[][]): (number | null)[] =>
    columnsOf({
      ...table,
      columns: names.map((name): Table["columns"][0] => [name, "int", "ns", false]),
      rows,
    }).map((c) => c.shown.decimals);
  const [now, base] = decimals(["new", "base", "lost"], [480.46e6, 481e6, -0.8e6], [479.7e6, 601e6, 0.6e6]); // prettier-ignore
  assert.equal(now, base);
  assert.notEqual(decimals(["new"], [480.46e6], [479.7e6])[0], decimals(["base"], [481e6], [601e6])[0]); // prettier-ignore
  const beside = decimals(["total", "total base"], [480.46e6, 481e6], [479.7e6, 601e6]);
  assert.equal(beside[0], beside[1]);
});

test("sizes of a table have one unit where all are legible in it", () => {
  const units = (rows: Cell[][]): string[] =>
    columnsOf({
      ...table,
      columns: rows[0].map((_, i): Table["columns"][0] => [`size ${i}`, "int", "bytes", false]),
      rows,
    }).map((c) => c.shown.unit);
  const [mib, gib] = [2 ** 20, 2 ** 30];
  assert.deepEqual(units([[898 * mib, 1.5 * gib, null]]), ["MiB", "MiB", "MiB"]);
  assert.deepEqual(units([[512, 1.5 * gib, 900 * mib]]), ["B", "MiB", "MiB"], "too wide in bytes");
});

test("filters that the address knows hold from the first rows that are shown", async () => {
  const asked: string[] = [];
  const rows = new Rows(
    (_q, filter, offset) => {
      asked.push(JSON.stringify(filter));
      return Promise.resolve({ ...table, total: 1, offset, rows: [["MatMul", 5]] });
    },
    () => assert.ok(rows.table === null || asked.length === 2, "nothing else was shown"),
  );
  rows.start({ sort: null, filter: { name: "MatMul" } });
  await new Promise((done) => setTimeout(done, 0));
  assert.deepEqual(asked, ["{}", '{"name":"MatMul"}']);
  assert.deepEqual(rows.row(0), ["MatMul", 5]);
});

test("a tree whose first page is all of it in its own order needs no other", async () => {
  const all = [
    ["a", 1],
    ["b", 2],
  ] as Cell[][];
  const rows = new Rows(
    (_q, _f, offset) => Promise.resolve({ ...table, total: 2, offset, rows: all }),
    () => undefined,
  );
  const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 0));
  rows.start(query(null));
  assert.equal(rows.isWhole, false);
  await settle();
  assert.equal(rows.isWhole, true);
  rows.start(query({ column: "total", desc: true }));
  await settle();
  assert.equal(rows.isWhole, false, "another order");
});

test("what is odd: numbers of ranks add up in the sentence, once", () => {
  const rank = (
    number: number,
    ...oddities: { severity: string; text: string; n: number; places: string[] }[]
  ): Rank =>
    ({ key: `k${number}`, rank: number, label: `rank ${number}`, oddities }) as unknown as Rank;
  const of = (text: string, n: number) => ({ severity: "info", text, n, places: [] });
  const odd = odditiesOf(
    [
      rank(
        0,
        of("500 slices have no call", 500),
        of("1 file is cut off", 1),
        of("clock set back", 3),
      ),
      rank(1, of("498 slices have no call", 498), of("1 file is cut off", 1)),
    ],
    null,
  );
  assert.deepEqual(
    odd.map((o) => [o.text, o.isCounted, o.ranks.length]),
    [
      ["998 slices have no call", true, 2],
      ["clock set back", false, 1],
      ["1 file is cut off", true, 2],
    ],
  );
  const [placed] = odditiesOf(
    [
      rank(0, { ...of("2 slices have no call", 2), places: ["event 14", "event 26"] }),
      rank(1, { ...of("2 slices have no call", 2), places: ["event 3", "event 8"] }),
    ],
    null,
  );
  assert.deepEqual(placed.places, ["rank 0: event 14", "rank 0: event 26", "rank 1: event 3"]);
});

test("why a slice has no links is said as the notes on the capture say it", () => {
  const rank = {
    missing: [
      {
        part: "flows",
        what: "links from calls to kernels",
        id: "flows.x",
        remedy: "Collect both.",
      },
      { part: "memory", what: "memory", id: "memory.x", remedy: "" },
    ],
    oddities: [
      { id: "kernel-without-call", severity: "info", text: "20 slices name no call", n: 20 },
      { id: "clock-set-back", severity: "info", text: "a clock", n: 1 },
    ],
  };
  const missing = "missing: links from calls to kernels. Collect both.";
  assert.deepEqual(whyNoLinks(rank, "task"), [missing, "20 slices name no call"]);
  assert.deepEqual(
    whyNoLinks(rank, "kernel"),
    [missing, "The call that launched it is not in the file; so it is of 20 device slices in all."],
    "of a kernel what is so of itself",
  );
  assert.deepEqual(whyNoLinks(rank, "operator"), [missing], "what devices lack is no reason");
  assert.deepEqual(whyNoLinks({}, "kernel"), []);
});

test("the address: there and back, the token never, unknown pages left out", () => {
  const parts = new Map([
    ["tl", { from: "12", q: "a&b=c#d é" }],
    ["mem", { rank: "k,1:2/3" }],
  ]);
  const hash = formatHash("memory", parts);
  assert.ok(hash.startsWith("tab=memory&"));
  const back = parseHash(`#${hash}`);
  assert.equal(back.tab, "memory");
  assert.deepEqual([...back.parts], [...parts]);
  assert.deepEqual(parseHash("#token=secret&tab=nowhere"), { tab: null, parts: new Map() });
});

test("the address: ranks stand by what they are; what is none stays", () => {
  const rank = (key: string, id?: string): Rank =>
    ({ key, ...(id === undefined ? {} : { id }), rank: 0, label: key, state: "waiting" }) as Rank;
  ranks.set([rank("0123456789abcdef", "fedcba9876543210"), rank("00000000000000aa")]);
  const hash = "#tab=timeline&tl.sel=0123456789abcdef:12&tl.pins=00000000000000aa,1111111111111111";
  const kept = "#tab=timeline&tl.sel=fedcba9876543210:12&tl.pins=00000000000000aa,1111111111111111";
  assert.equal(idsOf(hash), kept);
  assert.equal(keysOf(kept), hash);
  assert.equal(keysOf(hash), hash, "keys lead there, too");
  // Whatever stands before a rank, and however an address was written on its way here.
  const signed = new Map([
    [
      "tl",
      {
        box: "17+5,0123456789abcdef:3,0123456789abcdef:4:0-1",
        open: "+0123456789abcdef,-0123456789abcdef|device/0",
        ranks: "=0123456789abcdef",
        order: ">0123456789abcdef,0123456789abcdef|host",
      },
    ],
    ["sum", { of: '{"rank":"0123456789abcdef"}' }],
  ]);
  const sent = idsOf(`#${formatHash("timeline", signed)}`);
  assert.doesNotMatch(sent, /0123456789abcdef/);
  for (const written of [sent, `#${new URLSearchParams(sent.slice(1)).toString()}`]) {
    assert.deepEqual(parseHash(keysOf(written)).parts, signed, written);
  }
  ranks.set([]);
});

test("pages: who waits for whom is there where there are several ranks; of one there are findings, and steps to compare", () => {
  assert.deepEqual(tabsShown(1, "timeline"), [
    "timeline",
    "pipeline",
    "summary",
    "operator",
    "calls",
    "memory",
    "query",
    "compare",
  ]);
  assert.equal(tabsShown(2, "timeline").length, 10);
  assert.ok(tabsShown(1, "whatif").includes("whatif"));
});

const command = (id: string, ...keys: string[]): Command => ({
  id,
  word: "tab.timeline",
  keys,
  run: () => undefined,
});

test("keys: pages may use the same, a page and the frame may not", () => {
  assert.equal(pageOf(command("timeline.zoom")), "timeline");
  assert.equal(pageOf(command("frame.help")), "frame");
  assert.deepEqual(clashes([command("timeline.a", "w"), command("pipeline.a", "w")]), []);
  assert.equal(clashes([command("timeline.a", "W"), command("timeline.b", "w")]).length, 1);
  assert.equal(clashes([command("timeline.a", "?"), command("frame.help", "?")]).length, 1);
  const event = (key: string, more: Partial<KeyboardEvent> = {}): KeyboardEvent =>
    ({
      key,
      ctrlKey: false,
      metaKey: false,
      altKey: false,
      shiftKey: false,
      ...more,
    }) as KeyboardEvent;
  assert.equal(keyOf(event("Z", { shiftKey: true })), "Shift+z");
  assert.equal(keyOf(event("?", { shiftKey: true })), "?");
  assert.equal(keyOf(event("0", { metaKey: true })), "Ctrl+0");
});

test("a column is measured by its largest and its smallest number, wherever these stand", () => {
  const of: Table = {
    name: "slices",
    title: "",
    columns: [["start", "int", "ns", false]],
    total: 4,
    offset: 0,
    rows: [[1], [1002750360], [-7], [null]],
  };
  assert.deepEqual(extremesOf(of.rows, columnsOf(of)), [[-7], [1002750360]]);
});

test("columns whose names do not say it have a hint, in both languages", () => {
  for (const [key, [en, zh]] of HINTS_FOR_TESTS.flatMap((hints) => Object.entries(hints))) {
    assert.ok(en !== "" && zh !== "" && en !== zh, key);
  }
  assert.match(columnHint("PipelineBubble", "own"), /own window/);
  assert.match(columnHint("PipelineBubble", "unexplained"), /work of the device/);
  assert.equal(columnHint("PipelineBubble", "own difference"), columnHint("PipelineBubble", "own"));
  assert.equal(columnHint("kernel_details", "name"), "");
  assert.match(cellHint("overall", "name", "After the last work"), /end of its window/);
  assert.equal(cellHint("kernel_details", "name", "Free"), "");
  for (const hint of [columnHint("slices", "dstRank"), argumentHint("dst rank")]) {
    assert.match(hint, /within the communicator/);
  }
  for (const hint of [columnHint("communication_links", "dstRank"), argumentHint("Dst Rank")]) {
    assert.match(hint, /by its number in the job/);
  }
  assert.equal(columnHint("slices", "value"), "", "an argument of that name is no finding's");
});

test("every table of a mode says in Chinese what it holds", () => {
  const names = readFileSync("../src/query/mode_tables.def", "utf8").matchAll(/^X\("(\w+)"/gm);
  language.set("zh");
  for (const [, name] of names) {
    assert.notEqual(tableText({ name, text: "English" }), "English", name);
  }
  language.set("en");
});

test("every word stands in both languages with the same gaps", () => {
  for (const [key, [en, zh]] of Object.entries(WORDS_FOR_TESTS)) {
    assert.ok(en !== "" && zh !== "", key);
    const gaps = (text: string): string => [...new Set(text.match(/\{\d\}/g) ?? [])].sort().join();
    assert.equal(gaps(en), gaps(zh), key);
    // Each has one word, and is the other in neither language.
    assert.equal(/simulat/i.test(en), zh.includes("仿真"), key);
    assert.equal(/replay/i.test(en), zh.includes("重放"), key);
  }
  language.set("zh");
  assert.equal(inBrackets(t("state.ready")), `（${t("state.ready")}）`);
  assert.equal(t("frame.ranks", 3, 4), "3/4 个 rank");
  assert.equal(columnWord("Op_Type"), "算子类型");
  language.set("en");
  assert.equal(t("timeline.slices", 1), "1 slice");
  assert.equal(t("timeline.slices", 21), "21 slices");
  assert.equal(t("table.rows-left", 1), "1 row passes the filter");
  assert.equal(columnWord("op_type"), "Op type");
  assert.equal(columnWord("startNs"), "Start");
  assert.equal(columnWord("lateTime(us)"), "Late time");
  assert.equal(columnWord("aic_mac_ratio"), "Aic mac ratio");
  assert.equal(columnWord("Communication(Not Overlapped)"), "Communication(Not Overlapped)");
});

test("mouse moves of the help are told once each", () => {
  assert.equal(new Set(GESTURES.map((g) => `${g.on} ${g.how} ${g.what}`)).size, GESTURES.length);
});

test("a command that cannot be run says what it needs, or whose page it is of", () => {
  const command = (more: Partial<Command>): Command => ({
    id: "timeline.x",
    word: "timeline.base",
    keys: [],
    run: () => undefined,
    ...more,
  });
  tab.set("timeline");
  assert.equal(refusalOf(command({})), null);
  assert.equal(
    refusalOf(command({ isOff: () => true, needs: "palette.needs-slice" })),
    "select a slice first",
  );
  assert.equal(refusalOf(command({ isOff: () => true })), "not possible now");
  tab.set("memory");
  assert.equal(refusalOf(command({})), "on the page Timeline");
  tab.set("timeline");
});

test("the palette: times and what fits best", () => {
  assert.deepEqual(parseSpan("12.5ms"), { from: 12.5e6, to: 12.5e6 });
  assert.deepEqual(parseSpan("1..1.5 s"), { from: 1e9, to: 1.5e9 });
  assert.deepEqual(parseSpan("@3us-1ms"), { from: 3e3, to: 1e6 });
  assert.equal(parseSpan("12"), null);
  assert.equal(parseSpan("thread 12"), null);
  assert.ok(fits("Stream 7", "stream") > fits("Downstream", "stream"));
  assert.ok(fits("Ascend Hardware › Stream 7", "hw 7") > 0);
  assert.equal(fits("Memory", "xyz"), 0);
});

test("colours: the theme's lanes are apart for everyone, two greys are not", () => {
  assert.deepEqual(confusions(["#2f6bd0", "#f2994a", "#c2303f", "#dde2e8"]), []);
  assert.deepEqual(confusions(["#808080", "#858585"]), [{ a: 0, b: 1, vision: "normal" }]);
  assert.ok(distance("#00b000", "#d07000", "normal") > 40);
  assert.ok(Math.abs(distance("#ffffff", "#000000", "normal") - 100) < 0.1);
});

test("what a capture lacks is said once, ranks in short", () => {
  const rank = (n: number, state: "ready" | "waiting" | "reading", what: string[]) => ({
    key: `k${n}`,
    rank: n,
    label: `rank ${n}`,
    host: "",
    format: "",
    profiler: "",
    cluster: 0,
    profile: n,
    file: "",
    state,
    progress: 0.5,
    error: "",
    missing: what.map((w) => ({ part: w, what: w, id: `${w}.torch`, remedy: `collect ${w}` })),
  });
  const ranks = [
    rank(0, "ready", ["memory"]),
    rank(1, "ready", ["memory", "shapes"]),
    rank(2, "reading", []),
    rank(4, "waiting", []),
  ];
  assert.deepEqual(
    missingOf(ranks).map((m) => [m.what, m.ranks.length]),
    [
      ["memory", 2],
      ["shapes", 1],
    ],
  );
  assert.equal(ranksText(ranks), "0–2, 4");
  const loading = loadingOf(ranks);
  assert.deepEqual([loading.ready, loading.active, loading.waiting], [2, 1, 1]);
  assert.ok(Math.abs(loading.progress - 2.5 / 3) < 1e-9);
});

test("ranks of each open capture are counted apart", () => {
  const clusters = [{ path: "a/slow" }, { path: "b/gone", closed: true }, { path: "c/job" }];
  const known = [0, 0, 2].map((cluster) => ({ cluster, state: "ready" }) as Rank);
  assert.deepEqual(
    loadingOfEach({ clusters } as Session, known).map((c) => [c.name, c.n]),
    [
      ["slow", 2],
      ["job", 1],
    ],
  );
});

test("pictures: round ticks, texts of SVG are escaped", () => {
  assert.deepEqual(ticksOf(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticksOf(0, 0.0034, 4), [0, 0.001, 0.002, 0.003]);
  const pen = new SvgPen(() => 10);
  pen.text(1, 2, 'a<b&"c"', { fill: "#000000" });
  assert.ok(pen.done(10, 10, "#ffffff", "x<y").includes("a&lt;b&amp;&quot;c&quot;"));
});

test("order and filters of tables in the address", () => {
  const full = query({ column: "total", desc: true }, { name: 'a"b', core: "" });
  const back = parseQuery(formatQuery(full))!;
  assert.ok(sameQuery(full, back));
  assert.equal(back.filter.core, undefined);
  assert.ok(sameQuery(parseQuery(formatQuery(query(null)))!, query(null)));
  assert.equal(parseQuery("nonsense"), null);
});

test("names of columns stand in the language of the page", () => {
  language.set("zh");
  assert.equal(columnWord("warm-up"), "预热");
  assert.equal(sliceWord("After the last work"), "末项工作之后");
  assert.equal(cellWord("part of a step", "  after the last work"), "  末项工作之后");
  assert.equal(sliceWord("MatMul"), "MatMul");
  assert.equal(rankWord("rank 0 in new"), "rank 0（new）");
  assert.equal(rankWord("rank 0"), "rank 0");
  const parts = ["stage 2", "replica 1", "kind backward-compute", "rank 3 (stage 1, replica 0)"];
  assert.deepEqual(
    parts.map((part) => cellWord("repair", part)),
    ["阶段 2", "副本 1", "种类 反向计算", "rank 3（阶段 1，副本 0）"],
  );
  language.set("en");
  assert.equal(columnWord("warm-up"), "Warm-up");
  assert.equal(rankWord("rank 0 in new"), "rank 0 in new");
  assert.equal(cellWord("repair", "stage 2"), "stage 2");
});

test("what was read is told as of what was read, and time between captures is in no capture", () => {
  const rank = (host: string, from?: bigint, end = 0): Rank =>
    ({
      host,
      slices: 2,
      ...(from === undefined ? {} : { origin_ns: String(from), start: 0, end }),
    }) as Rank;
  const year = 31_536_000_000_000_000n;
  // Two ranks of one capture overlap by 2 s, the third is a capture a year later: 4 s and 1 s, not a year.
  const facts = captureFacts([
    rank("a", 0n, 3e9),
    rank("a", 1_000_000_000n, 3e9),
    rank("b", year, 1e9),
    ...Array.from({ length: 5 }, () => rank("")),
  ]);
  assert.equal(facts.covered, 5_000_000_000n);
  assert.deepEqual([facts.ready, facts.hosts, facts.slices, facts.start], [3, 2, 6, 0n]);
  // Files of all ranks tell of a third host; where they tell nothing, the two are those of what was read.
  assert.deepEqual(hostsOf(3, facts, 8), { n: 3, isOfAll: true });
  assert.deepEqual(hostsOf(null, facts, 8), { n: 2, isOfAll: false });
  assert.deepEqual(hostsOf(null, facts, 3), { n: 2, isOfAll: true });
});

test("what the address says of the pipeline holds for a chart that the timeline has loaded before", () => {
  const ranks = [
    { rank: 0, stage: 0, pipeline: 0 },
    { rank: 1, stage: 0, pipeline: 1 },
  ];
  const chart = chartOf(
    [1, 2].flatMap((step) => [0, 1].map((r) => ({ rank: r, step, start: step, end: step + 1 }))),
    ranks,
  );
  loaded.set({ chart, tables: [], view: { step: 1, pipeline: 0, longest: [] }, places: [] });
  writeState({ step: "2", pipeline: "1", window: "10,20" });
  assert.deepEqual(choice.get(), { step: 2, pipeline: 1, byPhase: false });
  assert.deepEqual(wantedWindow.get(), { from: 10, to: 20 });
  writeState({});
  assert.deepEqual(choice.get(), { step: 1, pipeline: 0, byPhase: false });
  loaded.set(null);
});

test("Escape leaves a field and does nothing else", () => {
  let done = 0;
  let blurred = 0;
  const stop = register([
    { id: "frame.test", word: "timeline.clear", keys: ["Escape"], run: () => done++ },
  ]);
  Object.assign(globalThis, { document: { querySelector: () => null } });
  const press = (tagName: string, defaultPrevented = false): void =>
    dispatch({
      key: "Escape",
      defaultPrevented,
      target: { tagName, blur: () => blurred++ },
      preventDefault: () => undefined,
    } as unknown as KeyboardEvent);
  press("INPUT");
  assert.deepEqual([done, blurred], [0, 1]);
  press("INPUT", true);
  assert.deepEqual([done, blurred], [0, 1], "the field has used it");
  press("DIV");
  assert.deepEqual([done, blurred], [1, 1]);
  stop();
});

test("a notice goes when what it tells of is so no more", () => {
  const page = new Atom("timeline");
  const told = notify("warning", "alone in the timeline");
  lowerUnless(told, () => page.get() === "timeline", [page]);
  const isUp = (): boolean | undefined => notices.get().find((n) => n.id === told)?.isUp;
  assert.equal(isUp(), true);
  page.set("summary");
  assert.equal(isUp(), false);
  page.set("timeline");
  assert.equal(isUp(), false, "it does not come back");
});

test("of what can be undone each is a notice of its own, failures are counted", () => {
  const told = (text: string): number[] =>
    notices
      .get()
      .filter((n) => n.text === text)
      .map((n) => n.n);
  const moved = "rank 6 moved by +61.1 ms";
  for (let i = 0; i < 2; i++) {
    notify("info", moved, () => undefined);
    notify("error", "no such rank");
    notify("info", "3 views were added");
  }
  assert.deepEqual(told(moved), [1, 1]);
  assert.deepEqual(told("no such rank"), [2]);
  assert.deepEqual(told("3 views were added"), [1]);
});

test("columns of text give way where numbers would be cut", () => {
  const column = (name: string, isNumber: boolean) => ({ name, isNumber }) as Column;
  const columns = [column("name", false), column("lost", true), column("new", true)];
  const measured = new Map([
    ["name", 300],
    ["lost", 80],
    ["new", 80],
  ]);
  assert.deepEqual(fit(columns, measured, {}, 500), [340, 80, 80]);
  assert.deepEqual(fit(columns, measured, {}, 400), [240, 80, 80]);
  assert.deepEqual(fit(columns, measured, {}, 300), [140, 80, 80]);
  assert.deepEqual(fit(columns, measured, {}, 299), [240, 80, 80], "what scrolls anyway is read");
  const ends = [column("source", false), column("destination", false)];
  const both = new Map([
    ["source", 60],
    ["destination", 170],
  ]);
  assert.deepEqual(fit(ends, both, {}, 400), [60, 340], "the widest takes what is left");
  assert.deepEqual(
    fit(columns, measured, { name: 300 }, 400),
    [300, 80, 80],
    "but not a chosen one",
  );
});

test("dates are written as the browser has its English", () => {
  assert.equal(dateLocale(["de-DE", "en-GB", "en-US"]), "en-GB");
  assert.equal(dateLocale(["fr"]), "en");
});

test("sentences of the program have the page's signs: µs, and the minus", () => {
  assert.equal(
    signed("these take 320 us more (-1.5 %), not -3"),
    "these take 320 µs more (\u22121.5 %), not \u22123",
  );
  assert.equal(signed("let us take rank 1-3, step-2"), "let us take rank 1-3, step-2");
  assert.equal(cellWord("what", "it waits 9.82 us"), "it waits 9.82 µs");
  assert.equal(cellWord("name", "sleep 10 us"), "sleep 10 us", "a name stays what it is");
  const table: Table = {
    name: "t",
    title: "",
    total: 1,
    offset: 0,
    columns: [["what", "text", "", false]],
    rows: [["753 us"]],
  };
  assert.equal(reader(table, "what")(table.rows[0]), "753 µs");
});

test("a capture that holds a part only says so where figures stand", () => {
  const of = (rank: number, ...oddities: NonNullable<Rank["oddities"]>): Rank =>
    ({ rank, oddities }) as unknown as Rank;
  const thin = (rank: number): Rank =>
    of(rank, { id: "thinned", severity: "loss", text: "", n: 1, places: ["2 of 9 events"] });
  assert.equal(thinnedText([of(0)]), "");
  assert.match(thinnedText([thin(0)]), /a part of what ran \(2 of 9 events\)/);
  assert.match(thinnedText([thin(0), of(1), thin(2)]), /\(ranks 0, 2\)/);
});

test("a step is called one way, and words of tables are said in the language of the page", () => {
  assert.deepEqual(["step1", "1", "-1", "", "step"].map(stepWord), [
    "step 1",
    "step 1",
    "step -1",
    "",
    "step",
  ]);
  assert.equal(cellWord("step", "step12"), "step 12");
  assert.equal(columnWord("index"), "Rank or stage");
  assert.equal(columnWord("no."), "No.");
  assert.deepEqual([cellWord("kind", "kernel"), commTypeWord("receive")], ["kernel", "receive"]);
  language.set("zh");
  const kinds = ["kernel", "communication", "unknown", "overlapped-compute", "of tomorrow"];
  assert.deepEqual(
    kinds.map((kind) => cellWord("kind", kind)),
    ["核函数", "通信", "未知", "重叠对计算", "of tomorrow"],
  );
  assert.deepEqual(["receive", "send", "allreduce"].map(commTypeWord), [
    "接收",
    "发送",
    "allreduce",
  ]);
  assert.equal(cellWord("repair", "kind overlapped-compute"), "种类 重叠对计算");
  assert.equal(columnWord("index"), "Rank 或阶段");
  language.set("en");
});
