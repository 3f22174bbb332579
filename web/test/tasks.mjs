// node tasks.mjs CHROMIUM URL: the fifteen tasks of docs/viewer.md, done with the keys and clicks that stand there. URL is what
// `pipescope serve` prints for `simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --filler 200 --profile`.
// PIPESCOPE_SHOTS=DIR keeps a picture of each.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { launchUnseen, until, Viewer } from "./page.mjs";

const [executablePath, url] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);

const near = (a, b, share = 0.02) => Math.abs(a - b) <= Math.abs(b) * share + 1;
/** A figure of the row is that time, as far as the digits of its column say. */
const saysMs = (row, ns) =>
  (row.match(/\d+\.\d+/g) ?? []).some((text) => {
    const last = 10 ** -text.split(".")[1].length;
    return Math.abs(Number(text) - ns / 1e6) <= 0.51 * last;
  });
const byStart = (a, b) => a.start - b.start;
/** Slices of a rank whose names match, as the server lists them. */
const slicesOf = async (v, q, rank) =>
  (await v.api("search/list", { q, ranks: rank.key, limit: 5000 })).rows;
const stepOf = (rank, id) => rank.steps.find((s) => s[0] === id);
/** The place in the header of rank 0 where the band of a step is. */
const bandOf = async (v, share) => v.at(v.lane("rank 0"), share);
const spanOf = async (v) => {
  const { w } = await v.state();
  return w === undefined ? null : Number(w.split("+")[2]);
};

/** A box is of what was clicked, also where that is closed; over the axis it is of all ranks. */
async function boxesOfRanks(v) {
  const closed = v.ranks.find((r) => r.rank === 3);
  const [, from, to] = stepOf(closed, 2);
  await v.press("Escape");
  await v.lane("rank 0").locator("button.tl-twist").click(); // for the others to come into sight
  await v.page.mouse.click(...(await v.at(v.lane(closed.label), 0.5)));
  await v.page.locator(".slice-list .panel-bar b", { hasText: closed.label }).waitFor();
  const { nodes } = await v.api("lanes", { rank: closed.key });
  const { totals } = await v.api("stats", {
    rank: closed.key,
    lanes: nodes.filter((n) => n.lane >= 0 && n.kind !== "counter").map((n) => n.lane),
    from,
    to,
  });
  assert.ok(totals.n > 0);
  await v.page
    .locator(".slice-list .panel-bar", { hasText: `${totals.n} slices` })
    .waitFor({ timeout: 10_000 });
  const axis = await v.page.locator(".tl-axis").boundingBox();
  const y = axis.y + 10;
  await v.drag([axis.x + axis.width * 0.4, y], [axis.x + axis.width * 0.6, y]);
  const ranks = v.page.locator(".slice-list .panel-bar select option");
  await until(
    async () => (await ranks.count()) === v.ranks.length,
    "closed ranks have their figures, too",
    () => ranks.allInnerTexts(),
  );
  await v.page.mouse.click(...(await v.at(v.lane(closed.label), 0.5)));
  await v.page.locator(".slice-list .panel-bar b", { hasText: closed.label }).waitFor();
  await v.page.getByRole("button", { name: "Calls of the box" }).click();
  const rank = v.page.locator("#page-calls select").first();
  await until(async () => (await rank.inputValue()) === closed.key, "calls are of that rank");
}

/** The header that stays on top says and offers what the one in place does. */
async function stuckHeader(v, rank) {
  await v.page.keyboard.press("Escape");
  const stuck = v.page.locator(".tl-stuck", { hasText: rank.label });
  const plot = await v.page.locator(".tl-over").boundingBox();
  await v.page.mouse.move(plot.x + 50, plot.y + plot.height - 20);
  await until(async () => {
    await v.page.mouse.wheel(0, 60);
    return (await stuck.count()) > 0;
  }, "its header stays");
  await stuck.locator(".tl-note", { hasText: "moved" }).waitFor();
  await stuck.click({ button: "right" });
  await v.page.getByRole("menuitem", { name: "Time offset" }).waitFor();
  await v.press("Escape");
}

const TASKS = {
  "find the longest kernel in a step": async (v) => {
    await v.page.mouse.click(...(await bandOf(v, 0.5))); // step 2
    await v.press("Shift+T");
    await v.page.getByRole("tab", { name: "System View", selected: true }).waitFor();
    await v.page.getByRole("tab", { name: "Device tasks" }).click();
    await v.page.getByRole("tab", { name: "Kernel details" }).click();
    await v.page
      .locator(".system .split")
      .getByRole("button", { name: /^Duration/ })
      .click();
    await v.settle();
    const sort = v.page.locator(".system .split [role=columnheader]", { hasText: "Duration" });
    if ((await sort.getAttribute("aria-sort")) !== "descending") {
      await v.page
        .locator(".system .split")
        .getByRole("button", { name: /^Duration/ })
        .click();
    }
    await v.settle();
    await v.rows(".system");
    await v.page.locator(".system .split [role=row][aria-rowindex='2']").dblclick();
    await v.settle();
    const found = await v.selected();
    const [, from, to] = stepOf(v.ranks[0], 2);
    const all = (await slicesOf(v, "_", v.ranks[0])).filter(
      (s) => ["kernel", "communication"].includes(s.kind) && s.start >= from && s.start < to,
    );
    assert.equal(found.dur, Math.max(...all.map((s) => s.dur)), "no kernel of the step is longer");
    const note = v.page.locator(".bottom-tabs", { hasText: "Of a span of 332 ms" });
    await v.below("Slice Detail");
    assert.equal(await note.count(), 0, "only tables say what they keep to");
    await v.below("System View");
    await note.getByRole("button", { name: "whole recording" }).click();
    await note.waitFor({ state: "detached" });
    assert.equal((await v.state()).span, undefined);
  },

  "follow a kernel to the call that launched it": async (v) => {
    await v.find("hcom_send__875_1_1");
    const kernel = await v.selected();
    const link = kernel.links.find((l) => l.kind === "HostToDevice" && l.direction === "from");
    await v.below("Slice Detail");
    await v.page.locator(".detail .ref", { hasText: "HostToDevice" }).first().click();
    await v.settle();
    const call = await v.selected();
    assert.equal(call.slice, link.ref.slice);
    assert.equal(call.kind, "call", "it is the call of the host");
    await v.page.locator(".detail .ref", { hasText: kernel.name }).first().click();
    await v.settle();
    assert.equal((await v.selected()).slice, kernel.slice, "and back");
  },

  "compare the gaps of two ranks": async (v) => {
    assert.match(await v.lane("Free").getAttribute("title"), /worked out by pipescope/);
    await v.lane("Free").click({ button: "right" });
    await v.page.getByText("Pin this lane of all ranks", { exact: true }).click();
    await v.settle();
    assert.equal((await v.state()).pin.split(",").length, v.ranks.length, "one above the other");
    await v.below("System View");
    await v.page.getByRole("tab", { name: "Overlap analysis" }).click();
    const free = {};
    for (const rank of v.ranks.slice(0, 2)) {
      await v.page.locator(".system select").selectOption(rank.key);
      await v.settle();
      const row = (await v.rows(".system")).find((r) => r.includes("Free"));
      const told = await v.api("view", { name: "overlap_sum", rank: rank.key });
      const total = told.columns.findIndex((c) => c[0] === "total");
      const exactly = told.rows.find((r) => r.includes("Free"))[total];
      free[rank.rank] = exactly;
      assert.ok(saysMs(row, exactly), `${row} shows ${exactly} ns in ms`);
    }
    assert.ok(Object.values(free).every((f) => f > 0));
  },

  "read the bubble of a stage": async (v) => {
    await v.tab("Pipeline");
    await v.page
      .locator("main")
      .getByText(/bubble 27\.\d %/)
      .first()
      .waitFor();
    const chart = await v.api("chart", { cluster: 0 });
    const table = chart.tables.find((t) => t.name === "PipelineBubble");
    const busy = table.columns.findIndex((c) => c[0] === "busy");
    assert.ok(table.rows.length > 0 && busy >= 0);
    await v.page.locator("main").getByText("72.7").first().waitFor(); // (m) / (m + p - 1) = 8 / 11
    await v.page.locator("main").getByText("warm-up ms").first().waitFor();
  },

  "measure a span": async (v) => {
    const lane = v.lane("Stream 2");
    const from = await v.at(lane, 0.25);
    await v.drag(from, [from[0] + 200, from[1]]);
    const { box } = await v.state();
    const span = Number(box.split(",")[0].split("+")[1]);
    await v.below("Slice List");
    const said = await v.page.locator(".slice-list .panel-bar").innerText();
    const shown = /([\d.]+) (ms|µs|s) framed/.exec(said);
    const ns = (_, number, unit) => Number(number) * { s: 1e9, ms: 1e6, µs: 1e3 }[unit];
    assert.ok(near(ns(...shown), span), `${said} is ${span} ns`);
    await v.page.locator(".slice-list .panel-bar", { hasText: "nothing ran for" }).waitFor();
    const bar = await v.page.locator(".slice-list .panel-bar").innerText();
    const covered = ns(.../([\d.]+) (ms|µs|s) covered/.exec(bar));
    const idle = ns(.../nothing ran for ([\d.]+) (ms|µs|s)/.exec(bar));
    assert.ok(idle > 0 && Math.abs(covered + idle - span) < 0.01 * span, bar);
    await v.press("k");
    assert.match((await v.state()).mark, /./, "K keeps it as a region");
    await v.below("Markers");
    assert.equal(await v.page.locator(".markers tbody tr").count(), 1);
  },

  "step through all calls of one name": async (v) => {
    await v.find("MatMulV2");
    const all = (await Promise.all(v.ranks.map((r) => slicesOf(v, "MatMulV2", r)))).flat();
    assert.match(
      await v.page.locator(".search-count").innerText(),
      new RegExp(`1 / ${all.length}`),
    );
    const first = await v.selected();
    await v.press("n");
    const second = await v.selected();
    assert.ok(
      second.start >= first.start && (second.slice !== first.slice || second.rank !== first.rank),
    );
    await v.press("Shift+N");
    assert.equal((await v.selected()).slice, first.slice);
    const own = all.filter((s) => s.rank === first.rank).sort(byStart);
    await v.press(">");
    assert.equal(
      (await v.selected()).slice,
      own[own.findIndex((s) => s.slice === first.slice) + 1].slice,
      "> stays in the lane",
    );
    const byTime = [...all].sort(byStart);
    const place = byTime.findIndex((s) => s.slice === own[1].slice && s.rank === first.rank);
    assert.ok(own.length > 1 && place > 0);
    await v.page.waitForFunction(
      (text) => document.querySelector(".search-count").textContent === text,
      `${place + 1} / ${all.length}`,
    );
    await v.press("/", "Escape", "n");
    assert.notEqual((await v.selected()).slice, own[1].slice, "Escape keeps what N goes on with");
  },

  "sum up what runs in a span, by name": async (v) => {
    const lane = v.lane("Stream 2");
    const from = await v.at(lane, 0.2);
    await v.drag(from, [from[0] + 300, from[1]]);
    await v.below("Slice List");
    const rows = await v.rows(".slice-list");
    const { box } = await v.state();
    const [span, ...lanes] = box.split(",");
    assert.equal(lanes.length, 1, "one lane");
    const [start, took] = span.split("+");
    const begin = Number(BigInt(start) - BigInt(v.ranks[0].origin_ns));
    const told = await v.api("stats", {
      rank: v.ranks[0].key,
      lanes: lanes[0].split(":")[1],
      from: begin,
      to: begin + Number(took),
      sort: "wall time",
      desc: 1,
    });
    assert.ok(rows[1].includes(told.rows[0][0]), "the most expensive name comes first");
    await v.page.locator(".slice-list [role=row][aria-rowindex='2']").first().click();
    await v.rows(".slice-list", 1); // every slice of that name
    const body = await v.page.locator(".bottom-body").boundingBox();
    const row = v.page.locator(".slice-list .table").nth(1).locator("[aria-rowindex='2']");
    const place = await row.boundingBox();
    assert.ok(place.y + place.height <= body.y + body.height, "its first row is in sight");
    assert.match(
      await v.page.locator(".slice-list .panel-bar").innerText(),
      /slices, .* in sum, .* covered/,
    );
    await boxesOfRanks(v);
  },

  "see what of a step is communication that nothing hides": async (v) => {
    await v.below("System View");
    const rank = v.page.locator(".system select");
    await rank.selectOption(v.ranks.at(-1).key);
    await v.page.mouse.click(...(await bandOf(v, 0.15))); // step 1
    await v.press("Shift+T");
    await v.below("System View");
    assert.equal(await rank.inputValue(), v.ranks[0].key, "the tables are of the band's rank");
    await v.page.getByRole("tab", { name: "Overall metrics" }).click();
    await v.rows(".system");
    await v.page.locator(".system .split [role=row][aria-rowindex='2'] button").first().click(); // closes Computing
    const rows = await v.rows(".system");
    const [, from, to] = stepOf(v.ranks[0], 1);
    const told = await v.api("view", { name: "overall", rank: v.ranks[0].key, from, to });
    const [path, total] = ["path", "total"].map((name) =>
      told.columns.findIndex((c) => c[0] === name),
    );
    const exposed = told.rows.find((r) => r[path] === "Communication(Not Overlapped)")[total];
    const row = rows.find((r) => r.includes("Communication(Not Overlapped)"));
    assert.ok(saysMs(row, exposed), `${row} says ${exposed} ns`);
  },

  "find who a receive waited for": async (v) => {
    await v.find("hcom_receive__875_4_1");
    const receive = await v.selected();
    const peer =
      receive.links.find((l) => l.kind === "send-recv") ??
      (await v.api("flows/of", { rank: receive.rank, slice: receive.slice })).flows.find(
        (f) => f.kind === "send-recv",
      );
    const send = peer.ref ?? peer.from;
    assert.notEqual(send.rank, receive.rank, "the send ran on another rank");
    await v.below("Slice Detail");
    const row = v.page.locator(".detail .ref", { hasText: "sends" }).first();
    await row.filter({ hasText: /waited for it [\d.]+ (ns|µs|ms)/ }).waitFor({ timeout: 10_000 });
    await row.click();
    await v.settle();
    const found = await v.selected();
    assert.equal(found.slice, send.slice);
    assert.match(found.name, /^hcom_send/);
  },

  "bring two ranks to the same start": async (v) => {
    await v.find("hcom_send__875_0_1");
    const base = await v.selected();
    await v.press("Control+k");
    await v.page.keyboard.type("Set as base slice");
    await v.press("Enter");
    const other = v.ranks.find((r) => r.key !== base.rank && r.rank === 1);
    const theirs = (await slicesOf(v, "hcom_send", other)).sort(byStart)[5];
    await v.find(theirs.name);
    assert.equal((await v.selected()).rank, other.key);
    await v.press("l");
    const { off } = await v.state();
    assert.ok(off.includes(other.key), "the other rank moved");
    const moved = Number(/[+-]?\d+$/.exec(off.split(",").find((o) => o.includes(other.key)))[0]);
    assert.equal(moved, base.start - theirs.start, "by exactly what lies between the two starts");
    await v.page.locator(".toast", { hasText: `${other.label} moved by` }).waitFor();
    await v.below("Slice Detail");
    await v.page.locator(".detail", { hasText: "moved by" }).waitFor();
    await v.below("Find");
    const start = await v.page
      .locator(".find .grid-row", { hasText: other.label })
      .first()
      .innerText();
    assert.ok(saysMs(start, base.start), `${start}: where the timeline shows it`);
    await stuckHeader(v, other);
  },

  "mark a place, name it, and come back": async (v) => {
    await v.find("hcom_receive__875_4_1");
    await v.press("f", "m", "k");
    await v.below("Markers");
    await v.page.locator(".markers tbody input:not([type=color])").fill("first receive");
    await v.press("Enter");
    await v.press("Control+0");
    assert.equal(await spanOf(v), null);
    await v.page.getByLabel("Show in the timeline").click();
    await v.settle();
    assert.ok((await spanOf(v)) < 2e8, "the window is there again");
    await v.press("Control+0");
    await v.tab("Memory");
    await v.press("Control+k");
    await v.page.keyboard.type("first receive");
    await v.page.locator(".palette-item[aria-selected=true]", { hasText: "region" }).waitFor();
    await v.press("Enter");
    await until(async () => ((await spanOf(v)) ?? Infinity) < 2e8, "its name leads there, too");
    const address = await v.page.evaluate(() => location.hash);
    assert.ok(!address.includes("token"));
    await v.page.reload();
    await v.ready();
    await v.below("Markers");
    assert.equal(
      await v.page.locator(".markers tbody input:not([type=color])").inputValue(),
      "first receive",
      "the address keeps it",
    );
  },

  "trace one microbatch through all stages, and go to it in the timeline": async (v) => {
    await v.tab("Pipeline");
    const plot = v.page.locator("main .plot").first();
    await plot.waitFor();
    await v.settle();
    const b = await plot.boundingBox();
    // Stage 0 runs 0F to 3F in the first 40 of 330 ms.
    await v.page.mouse.move(b.x + (b.width * 15) / 330, b.y + 10);
    await v.settle();
    assert.match(await v.page.locator(".pp-tip").first().innerText(), /microbatch\s+1/);
    await v.shot("trace");
    await v.page.mouse.click(b.x + (b.width * 15) / 330, b.y + 10);
    await v.page.locator(".tl-over").waitFor();
    await v.settle();
    assert.equal(
      await v.page.locator("nav [aria-current=page], nav [aria-selected=true]").first().innerText(),
      "Timeline",
    );
    assert.ok((await spanOf(v)) < 1e8, "close to the block");
  },

  "ask what another schedule would bring": async (v) => {
    await v.tab("Pipeline");
    await v.page.locator("main").getByText("Other schedules", { exact: true }).click();
    await v.page.locator("main [role=row], main tr").filter({ hasText: "zb-h1" }).first().waitFor();
    await v.page.locator("main").getByText("Simulate", { exact: true }).click();
    const schedule = v.page
      .locator("main select")
      .filter({ has: v.page.locator("option[value=gpipe]") })
      .first();
    await schedule.selectOption("zb-h1");
    const said = await v.page.waitForFunction(() =>
      /below: zb-h1, ([\d.]+) ms, bubble ([\d.]+) %/.exec(
        document.querySelector(".pl-what p").textContent,
      ),
    );
    const [, ms, bubble] = await said.jsonValue();
    assert.ok(
      Number(ms) < 330 && Number(bubble) < 27.3,
      `zb-h1 is shorter than 1F1B: ${ms} ms, ${bubble} %`,
    );
  },

  "list a lane, filter it, and save it": async (v) => {
    await v.lane("Stream 2").click({ button: "right" });
    await v.page.getByText("Show in Events View", { exact: true }).click();
    await v.rows();
    await v.page
      .locator(".bottom-body")
      .getByLabel(/filter/i)
      .first()
      .click();
    await v.page.locator(".bottom-body .grid-filters input:focus").waitFor();
    await v.page.keyboard.type("MatMul");
    await v.press("Escape");
    assert.equal(
      await v.page.locator(".bottom-body .grid-filters input").first().inputValue(),
      "MatMul",
      "typed into the first field, and Escape leaves it there",
    );
    await v.settle();
    const rows = await v.rows();
    assert.ok(
      rows.slice(1).every((r) => r.includes("MatMul")),
      "only those are left",
    );
    await v.page.locator(".bottom-body .table-bar button").last().click();
    const [file] = await Promise.all([
      v.page.waitForEvent("download"),
      v.page.getByText("CSV", { exact: false }).first().click(),
    ]);
    // The address leads back to the same list.
    await v.settle();
    await v.page.reload();
    await v.ready();
    const typed = v.page.locator(".bottom-body .grid-filters input").first();
    await typed.waitFor();
    assert.equal(await typed.inputValue(), "MatMul");
    assert.deepEqual(await v.rows(), rows);
    const lines = readFileSync(await file.path(), "utf8")
      .trim()
      .split("\n");
    const all = await slicesOf(v, "MatMul", v.ranks[0]);
    assert.equal(lines.length, all.length + 1, "a header and every row that is left");
    assert.ok(lines.slice(1).every((l) => l.includes("MatMul")));
  },

  "share what is seen": async (v) => {
    await v.find("hcom_receive__875_4_1");
    await v.press("f");
    await v.lane("Free").hover();
    await v.lane("Free").getByRole("button", { name: "Pin on top" }).click();
    await v.lane("Computing").click({ button: "right" });
    await v.page.getByRole("menuitem", { name: "Hide", exact: true }).click();
    const from = await v.at(v.lane("Stream 2"), 0.25);
    await v.drag(from, [from[0] + 200, from[1]]);
    await v.rows(".slice-list");
    const textsOf = (of) =>
      Promise.all(
        [".tl-pins .tl-name", ".tl-hidden", ".slice-list"].map((s) =>
          of.page.locator(s).allInnerTexts(),
        ),
      );
    await v.state(); // the address catches up
    const address = await v.page.evaluate(() => location.hash);
    const other = await Viewer.open(browser, v.url, { hash: `&${address.slice(1)}` });
    const [mine, theirs] = [await v.state(), await other.state()];
    assert.deepEqual(theirs, mine, "another page shows the same");
    await other.rows(".slice-list");
    assert.deepEqual(await textsOf(other), await textsOf(v), "lanes and the list of the box, too");
    assert.ok(
      !(await other.page.evaluate(() => location.href)).includes("token"),
      "and the token is in no address",
    );
    await other.page.context().close();
    await v.page
      .locator("header")
      .getByLabel(/Save a picture/)
      .click();
    const [file] = await Promise.all([
      v.page.waitForEvent("download"),
      v.page.getByText("PNG", { exact: false }).first().click(),
    ]);
    const bytes = readFileSync(await file.path());
    assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  },
};

let failed = 0;
const only = process.env.PIPESCOPE_TASK;
const names = Object.keys(TASKS);
assert.equal(names.length, 15);
for (const [i, name] of names.entries()) {
  if (only !== undefined && !name.includes(only)) {
    continue;
  }
  const v = await Viewer.open(browser, url);
  try {
    await TASKS[name](v);
    await v.shot(`task-${i + 1}`);
    assert.deepEqual(v.faults, [], "nothing went wrong in the page");
    console.log(`ok ${i + 1} - ${name}`);
  } catch (error) {
    failed++;
    await v.shot(`task-${i + 1}-failed`);
    console.log(
      `not ok ${i + 1} - ${name}\n${String(error.stack).split("\n").slice(0, 9).join("\n")}\n${v.faults.join("\n")}`,
    );
  }
  await v.page.context().close();
}
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
