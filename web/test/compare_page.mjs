// node compare_page.mjs CHROMIUM URL COMPARE.json LINKS: the page of comparisons in a real browser. URL is what `pipescope serve new --baseline
// old` prints for two simulated profiles, of which the new one has a slow stage; the file is what `pipescope compare` says of them.
// LINKS is the same of a capture with links and of the same capture with links twice as fast, "" for none. PIPESCOPE_SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apiOf, launchUnseen, until } from "./page.mjs";
import { atRest } from "./rest.mjs";

const [executablePath, url, file, links] = process.argv.slice(2);
const { tables } = JSON.parse(readFileSync(file, "utf8"));
const browser = await launchUnseen(executablePath);
const faults = [];

async function open(options = {}, from = url) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    locale: "en",
    ...options,
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(60_000);
  await page.goto(`${from}&tab=compare`);
  await page.waitForSelector("#page-compare .grid-row");
  return page;
}

/** By the wheel, and as a drag of the scrollbar sets it: the rows are drawn where the table stands. */
async function scrollsBothWays(page, grid) {
  await grid.scrollIntoViewIfNeeded();
  const box = await grid.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const wheel = (px) => page.mouse.wheel(0, px);
  const set = (px) => grid.evaluate((element, to) => (element.scrollTop = to), px);
  for (const [move, px] of [
    [wheel, 1000],
    [wheel, -1000],
    [set, 1000],
    [set, 0],
  ]) {
    await move(px);
    await page.waitForFunction(
      ([element, isDown]) => {
        const heads = element.querySelector(".grid-top").offsetHeight;
        const top = element.getBoundingClientRect().top + element.clientTop + heads;
        const places = [...element.querySelectorAll(".grid-row")].map((row) =>
          Math.round(row.getBoundingClientRect().top - top),
        );
        return (
          element.scrollTop > 0 === isDown &&
          Math.min(...places) <= 0 &&
          Math.max(...places) + 24 >= element.clientHeight - heads
        );
      },
      [await grid.elementHandle(), px > 0],
      { timeout: 5000 },
    );
  }
}
const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
  }
};

// --- the figures of the command line, and both places ------------------------------------------------------------------

{
  const page = await open();
  const [step] = tables.OverallCompare;
  const line = await page.locator("#page-compare .verdict").innerText();
  assert.match(
    line,
    new RegExp(
      `^A step takes ${(step.lost_ns / 1e6).toPrecision(3)} ms longer: .*\\([\\d.]+ times\\)`,
    ),
  );
  const slower = page.locator("#page-compare .card", { hasText: "What takes longer" });
  const lost = [...tables.KernelCompare, ...tables.CommunicationCompare].filter(
    (r) => r.lost_ns > 0,
  );
  lost.sort((a, b) => b.lost_ns - a.lost_ns);
  const first = slower.locator(".grid-row").first();
  assert.ok((await first.innerText()).includes(lost[0].name), await first.innerText());
  await shot(page, "compare.png");
  const ranked = page.locator("#page-compare .card", { hasText: "A step of each rank" });
  assert.match(await ranked.innerText(), /Rank[\s\S]*Stage/);
  const worst = await ranked.locator(".grid-row").first().getByRole("gridcell").allInnerTexts();
  assert.deepEqual(worst.slice(0, 2), ["1", "1"], "the slow stage first");
  // A click there compares that rank on both sides, the tables by name too; one more and all stand there again.
  await ranked.locator(".grid-row").first().click();
  await page
    .locator("#page-compare h3", { hasText: /\u00b7 rank 1$/ })
    .first()
    .waitFor();
  await page.waitForFunction(() => /cmp\.nowRank=1&cmp\.baseRank=1/.test(location.hash));
  assert.equal(await ranked.locator(".grid-row.marked").count(), 1);
  await page.getByRole("button", { name: "All ranks" }).click();
  await first.click();
  await page.waitForFunction(() => /cmp\.name=/.test(location.hash));
  const named = page.locator("#page-compare h3", { hasText: /· mean of all ranks$/ });
  await named.nth(1).waitFor(); // what takes longer, and the table by name
  for (const side of ["New", "Baseline"]) {
    const places = page.locator("#page-compare .card", { hasText: `${side}: ${lost[0].name}` });
    await places
      .locator(".grid-row", { hasText: /rank \d+, stage \d+/ })
      .first()
      .waitFor();
  }
  const places = page.locator("#page-compare .card", { hasText: `Baseline: ${lost[0].name}` });
  await scrollsBothWays(page, places.locator(".grid"));
  await places.locator(".grid-row").first().dblclick();
  // The slice is seen in its length, with what is known of it.
  await page.waitForFunction(
    () => /tab=timeline/.test(location.hash) && /tl\.sel=/.test(location.hash),
  );
  await page.locator("[role=tab][aria-selected=true]", { hasText: "Slice Detail" }).waitFor();
  await page.waitForFunction(async () => {
    const said = new URLSearchParams(location.hash.slice(1));
    const slice = Number(said.get("tl.sel").split(":")[1]);
    return slice >= 0 && Number((said.get("tl.w") ?? "").split("+")[2]) < 1e8;
  });
  await page.close();
}

// --- a row's slices are those that it counts: no calls of their names, no kinds whose names hold its own ---------------------

{
  const page = await open();
  const slower = page.locator("#page-compare .card", { hasText: "What takes longer" });
  await slower.locator(".grid-row", { hasText: "receive" }).first().click();
  const [row] = tables.CommunicationCompare.filter((r) => r.name === "receive");
  for (const [side, calls] of [
    ["New", row["calls new"]],
    ["Baseline", row["calls base"]],
  ]) {
    const grid = page.locator(`#page-compare [role=grid][aria-label$="${side}: receive"]`);
    await grid.waitFor();
    assert.equal(
      Number(await grid.getAttribute("aria-rowcount")) - 1,
      calls * 2,
      "2 steps of the one rank of the slow stage",
    );
    // They are brought into sight.
    const seen = await grid.boundingBox();
    assert.ok(seen.y + 60 < 900, `${side}: at ${seen.y}`);
  }
  await shot(page, "compare-places.png");
  const parts = page.locator("#page-compare .card", { hasText: "Where the time of a step went" });
  const left = async (text) =>
    (await parts.locator(".tree-text", { hasText: text }).first().boundingBox()).x;
  assert.ok((await left(/^not overlapped$/)) > (await left(/^communication$/)), "indented");
  await page.close();
}

// --- the stage that lost, and what is compared of each side: rank with rank of one capture, in a step -------------------------

{
  const page = await open();
  const [note] = tables.CompareNotes;
  await page.locator("#page-compare p", { hasText: note.what }).waitFor();
  const stages = page.locator("#page-compare .card", { hasText: "Stages: their work in a step" });
  const row = await stages.locator(".grid-row").nth(1).getByRole("gridcell").allInnerTexts();
  const ms = (ns) => ns / 1e6;
  const slow = tables.StageCompare[1];
  assert.deepEqual(row.slice(0, 4).map(Number), [1, ...[slow.new_ns, slow.base_ns, slow.lost_ns].map(ms)]); // prettier-ignore

  const CHOICES = ["capture", "rank", "step"];
  const pick = (side, what, value) =>
    page
      .locator("#page-compare .side")
      .nth(side)
      .locator("select")
      .nth(CHOICES.indexOf(what))
      .selectOption(value);
  await pick(1, "capture", "0");
  await page.locator("#page-compare", { hasText: "Both sides are the same" }).waitFor();
  await pick(0, "rank", "1");
  await pick(0, "step", "2");
  await pick(1, "rank", "0");
  await pick(1, "step", "2");
  await page.waitForFunction(
    () => /cmp\.nowRank=1/.test(location.hash) && /cmp\.baseStep=2/.test(location.hash),
  );
  const asked = { rank_list: 1, step_id: 2, base_rank_list: 0, base_step: 2 };
  const said = await apiOf(url)("mode", { name: "compare", cluster: 0, baseline: 0, ...asked });
  const of = (name) => said.tables.find((one) => one.name === name);
  const cell = (table, row, column) => row[table.columns.findIndex(([name]) => name === column)];
  const kernels = of("KernelCompare");
  const most = kernels.rows.find(
    (row) => cell(kernels, row, "calls base") > 0 && cell(kernels, row, "lost") > 0,
  );
  const slower = page.locator("#page-compare .card", { hasText: "What takes longer" });
  await slower
    .locator(".grid-row", { hasText: cell(kernels, most, "name") })
    .first()
    .click();
  for (const [side, calls] of [
    ["New", "calls new"],
    ["Baseline", "calls base"],
  ]) {
    const grid = page.locator(`#page-compare [role=grid][aria-label*="${side}: "]`);
    await grid
      .locator(".grid-row", { hasText: `rank ${side === "New" ? 1 : 0}` })
      .first()
      .waitFor();
    const n = Number(await grid.getAttribute("aria-rowcount")) - 1;
    assert.equal(n, cell(kernels, most, calls), `${side}: slices of the rank and step alone`);
  }
  await shot(page, "compare-ranks.png");
  await page.getByRole("button", { name: "Both in the timeline, on one scale" }).click();
  await page.waitForFunction(
    () => /tab=timeline/.test(location.hash) && /tl\.ranks=/.test(location.hash),
  );
  await page.locator(".toast", { hasText: /rank 1 in new and rank 0 in new/ }).waitFor();
  await page.close();
}

// --- timelines and pipelines side by side --------------------------------------------------------------------------------

{
  const page = await open();
  // System View was of another rank.
  await page.locator("#tab-timeline").click();
  await page.locator(".system select").selectOption({ label: "rank 1 in new" });
  await page.locator("#tab-compare").click();
  await page.getByRole("button", { name: "Both in the timeline, on one scale" }).click();
  await page.waitForFunction(
    () => /tab=timeline/.test(location.hash) && /tl\.ranks=/.test(location.hash),
  );
  const lanes = page.locator(".tl-row", { hasText: "Pipeline, stage 0" });
  await lanes.nth(1).waitFor(); // of the baseline, too
  const panel = await page.locator("#page-timeline .bottom").boundingBox();
  const lowest = await lanes.nth(1).boundingBox();
  assert.ok(lowest.y + lowest.height <= panel.y, "in sight without scrolling");
  const { ranks } = await apiOf(url)("ranks");
  const shown = ranks.filter((r) => r.rank === 0).map((r) => r.key);
  assert.ok(
    shown.includes(await page.locator(".system select").inputValue()),
    "System View is of one of the two",
  );
  await shot(page, "compare-timeline.png");
  const toast = page.locator(".toast", { hasText: /rank 0 in new and rank 0 in old/ });
  await toast.getByRole("button", { name: "Undo" }).click();
  await page.waitForFunction(() => !/tl\.ranks=/.test(location.hash));
  await page.close();
}
{
  const page = await open();
  // The timeline has its chart already: nothing comes that would change the address later.
  await page.locator("#tab-timeline").click();
  await page.locator(".tl-row", { hasText: "Pipeline, stage 0" }).first().waitFor();
  await page.locator("#tab-compare").click();
  await page.getByRole("button", { name: "Pipelines one above the other" }).click();
  await page.waitForFunction(() => /pp\.under=beside:x[0-9a-f]{16}/.test(location.hash));
  await page.locator("#page-pipeline", { hasText: "from the same start on one scale" }).waitFor();
  await shot(page, "compare-pipelines.png");
  // Somebody else sees the same, with the block that is kept lit; Esc lets go of it.
  const plot = page.locator("#page-pipeline .chart .plot");
  await plot.hover({ position: { x: 6, y: 6 } });
  await page
    .locator(".pp-tip", { hasText: /old\s*starts at the same time, takes as long/ })
    .waitFor();
  await plot.click({ position: { x: 6, y: 6 }, modifiers: ["Shift"] });
  await page.waitForFunction(() => /pp\.lit=ops:0:0,\d+/.test(location.hash));
  const said = page.url().split("#")[1];
  const again = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: "en" });
  await again.goto(`${url}&${said}`);
  await again.locator("#page-pipeline", { hasText: "from the same start on one scale" }).waitFor();
  await atRest(again);
  assert.equal(new URL(again.url()).hash.slice(1), said);
  await again.keyboard.press("Escape");
  await again.waitForFunction(() => !/pp\.lit=/.test(location.hash));
  await again.close();
  await page.close();
}

// --- differences on the other pages: the same tables of both captures ------------------------------------------------------

/** What the page shows in the first row of a table, by column; and the same two rows as the server has them. */
const cellsOf = (row) =>
  row.locator("[role=gridcell]").evaluateAll((cells) => cells.map((c) => c.innerText.trim()));
const numberIn = (text) => Number(text.replace("\u2212", "-").replace(/[^\d.-]/g, ""));
const headsOf = (table) =>
  table
    .locator("[role=columnheader]")
    .evaluateAll((cells) => cells.map((c) => c.innerText.replace(/\s+/g, " ").trim()));

const api = apiOf(url);
const ranksOf = async (n) => (await api("ranks")).ranks.filter((r) => r.cluster === n);

{
  const page = await open();
  const of = async (n) => (await ranksOf(n)).find((r) => r.rank === 1);
  await page.locator("#tab-operator").click();
  await page
    .locator("#page-operator select")
    .first()
    .selectOption((await of(0)).key);
  const table = page.locator("#page-operator .table", { hasText: "beside the baseline" }).first();
  await table.locator(".grid-row").first().waitFor();
  const view = async (n) =>
    api("view", { name: "operator_types", rank: (await of(n)).key, limit: 5000 });
  const [now, old] = [await view(0), await view(1)];
  const total = (t, row) => row[t.columns.findIndex(([name]) => name === "total")];
  const key = (row) => row.slice(0, 2).join();
  const lost = now.rows.map((row) => [
    key(row),
    total(now, row) -
      total(
        old,
        old.rows.find((other) => key(other) === key(row)),
      ),
  ]);
  lost.sort((a, b) => b[1] - a[1]);
  const heads = await headsOf(table);
  const place = heads.findIndex((h) => /^Total difference/.test(h));
  const unit = /\((\w+)\)|(ns|µs|ms|s)$/.exec(heads[place]);
  const first = await cellsOf(table.locator(".grid-row").first());
  assert.equal(first[0], lost[0][0].split(",")[0], `${heads} ${first}`);
  const scale = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit[1] ?? unit[2]];
  assert.ok(
    Math.abs(numberIn(first[place]) * scale - lost[0][1]) < 0.006 * lost[0][1],
    `${heads[place]} ${first[place]} ${lost[0][1]}`,
  );
  await shot(page, "compare-operator.png");
  for (const name of ["summary", "communication"]) {
    await page.locator(`#tab-${name}`).click();
    const beside = page.locator(`#page-${name} .table`, { hasText: "beside the baseline" });
    await beside.first().locator(".grid-row").first().waitFor();
    assert.ok((await headsOf(beside.first())).some((h) => / difference/.test(h)));
    await shot(page, `compare-${name}.png`);
  }
  // What the capture is does not count the ranks of the baseline.
  const { ranks: all } = await api("ranks");
  const facts = await page.locator("#page-summary dl.facts dd").allTextContents();
  assert.equal(facts[0], String(all.filter((r) => r.cluster === 0).length), facts.join(" "));
  assert.ok(!facts.some((fact) => fact.endsWith("/old")), facts.join(" "));
  // Without the baseline the tables are as ever; the address remembers it.
  await page.locator("#page-communication select").last().selectOption("none");
  await page
    .locator("#page-communication .table", { hasText: "beside the baseline" })
    .waitFor({ state: "detached" });
  await page.waitForFunction(() => /base\.n=none/.test(location.hash));
  await page.close();
}

// --- captures come and go in the page --------------------------------------------------------------------------------------

{
  const page = await open();
  const paths = async () =>
    (await api("session")).clusters.filter((c) => c.closed !== true).map((c) => c.path);
  const [now, old] = await paths();
  const show = async () => {
    await page.locator("header .opened").click();
    await page.locator("dialog .captures").first().waitFor();
  };
  await show();
  await page.getByRole("button", { name: `Close this capture: ${old}` }).click();
  await until(async () => (await paths()).length < 2, "it closes");
  assert.deepEqual(await paths(), [now]);
  // Of one capture the rank that computes longest stands beside another one; on pages of one rank any does.
  await page.keyboard.press("Escape");
  await page
    .locator("#page-compare", { hasText: /Rank 1 computes longest; rank 0 is the other/ })
    .waitFor();
  await page.locator("#page-compare .verdict").waitFor();
  await page.locator("#tab-operator").click();
  await page
    .locator("#page-operator")
    .getByRole("combobox", { name: "Beside" })
    .selectOption("rank:1");
  await page
    .locator("#page-operator .table", { hasText: "beside rank 1" })
    .first()
    .locator(".grid-row")
    .first()
    .waitFor();
  await page.waitForFunction(() => /base\.n=rank%3A1|base\.n=rank:1/.test(location.hash));
  await page.locator("#tab-compare").click();
  await show();
  // The folders that were given may be opened, by a click or by name; nothing else.
  await page.locator("dialog .open-another summary").click();
  await page.locator("dialog .open-another li", { hasText: old }).waitFor();
  await shot(page, "captures.png");
  const field = page.locator("dialog .open-another input:not([type=file])");
  await field.fill("/etc");
  await page.locator("dialog .open-another button[type=submit]").click();
  await page.locator(".toast", { hasText: "not below a folder that is served" }).waitFor();
  await page
    .locator("dialog .open-another li", { hasText: old })
    .getByRole("button", { name: /^Open/ })
    .click();
  // The list of what is open, not that of what may be opened, which looks alike.
  await page.getByRole("button", { name: `Close this capture: ${old}` }).waitFor();
  assert.deepEqual(await paths(), [now, old]);
  await page
    .locator("dialog .captures li", { hasText: old })
    .getByRole("button", { name: "Make it the baseline" })
    .click();
  assert.deepEqual(
    await page.locator("dialog .captures li:has(b)").locator("b, .mono").allInnerTexts(),
    [old, "Baseline"],
    "the list says which one it is",
  );
  await page.keyboard.press("Escape");
  await page.locator("#tab-operator").click();
  await page
    .locator("#page-operator .table", { hasText: "beside the baseline" })
    .first()
    .locator(".grid-row")
    .first()
    .waitFor();
  await page.locator("#tab-timeline").click();
  await page.locator(".tl-row", { hasText: "rank 0 in old" }).first().waitFor();
  await page.close();
}

// --- links coloured by what changed; operators without a namesake stand beside those of their type -------------------------------

if (links !== "") {
  const page = await open({}, links);
  await page.locator("#tab-communication").click();
  const map = page.getByRole("img", { name: /Matrix.*Bandwidth.*Difference to the baseline/ });
  await map.waitFor();
  const tip = page.locator(".hover-tip");
  const box = await map.boundingBox();
  const texts = new Set();
  for (let x = 60; x < box.width && texts.size < 3; x += 20) {
    for (let y = 50; y < box.height && texts.size < 3; y += 20) {
      await page.mouse.move(box.x + x, box.y + y);
      if ((await tip.count()) > 0) {
        texts.add(await tip.innerText());
      }
    }
  }
  assert.ok(texts.size > 0, "links have a tip");
  for (const text of texts) {
    const [between, here, there] = [...text.matchAll(/([\u2212-]?[\d.]+) GB\/s/g)].map((m) =>
      numberIn(m[1]),
    );
    // The baseline is twice as fast: what lies between them is the speed of here.
    assert.ok(
      Math.abs(between + here) < 0.02 * here && Math.abs(there - 2 * here) < 0.02 * there,
      text,
    );
  }
  await shot(page, "compare-links.png");
  await page.getByRole("checkbox", { name: "Difference to the baseline" }).uncheck();
  await page.getByRole("img", { name: /^Matrix Bandwidth$/ }).waitFor();
  await page.locator("#page-communication .group button").nth(1).click();
  // Shift and a click on an operator of the axis: its ends stand below one another, until that is taken back.
  const axis = page.getByRole("img", { name: /^Operators in time/ });
  await axis.waitFor();
  const room = await axis.boundingBox();
  const undo = page.getByRole("button", { name: /^Undo: ends of hcom_allReduce/ });
  for (let x = 110; x < room.width && (await undo.count()) === 0; x += 15) {
    await page.mouse.move(room.x + x, room.y + 24 + 11);
    if ((await tip.count()) > 0) {
      await axis.click({ position: { x, y: 24 + 11 }, modifiers: ["Shift"] });
      await undo.waitFor();
    }
  }
  await undo.click();
  await undo.waitFor({ state: "detached" });
  const operator = page.getByRole("combobox", { name: "Operator" });
  await operator.selectOption({ label: "hcom_allReduce__210_0_1" });
  await page
    .locator("#page-communication", { hasText: "all of type allreduce stand beside one another" })
    .waitFor();
  const beside = page.locator("#page-communication .table", { hasText: "beside the baseline" });
  await beside.locator(".grid-row").first().waitFor();
  const heads = await headsOf(beside);
  const change = heads.findIndex((h) => /^Elapsed difference/.test(h));
  for (const row of await beside.locator(".grid-row").all()) {
    assert.equal(Number((await cellsOf(row))[change]), 0, "the same types take the same time");
  }
  await page.locator("#tab-operator").click();
  await page.getByRole("combobox", { name: "Group by" }).selectOption("comm_names");
  await page.locator("#page-operator", { hasText: "No operator has the same name" }).waitFor();
  // Memory: the curves of both on one axis, operators by name with twice the size there.
  await page.locator("#tab-memory").click();
  await page.locator("#page-memory .curves").first().waitFor();
  assert.match(await page.locator("#page-memory").innerText(), /\(baseline\)/, "curves of both");
  const held = page.locator("#page-memory .table", { hasText: "beside the baseline" }).first();
  await held.locator(".grid-row").first().waitFor();
  const sizes = (await headsOf(held)).findIndex((h) =>
    /^Size(?! (base|difference|change))/.test(h),
  );
  for (const row of (await held.locator(".grid-row").all()).slice(0, 4)) {
    const exact = await row
      .getByRole("gridcell")
      .evaluateAll((cells) => cells.map((cell) => cell.title));
    const [size, before, less, share] = exact.slice(sizes, sizes + 4).map(numberIn);
    assert.ok(Math.abs(before - 2 * size) < 0.02 * before && Math.abs(less + size) < 0.02 * size);
    assert.equal(share, -50);
  }
  await shot(page, "compare-memory.png");
  await page.close();
}

// --- swapped, narrow, dark -----------------------------------------------------------------------------------------------

{
  const page = await open({ colorScheme: "dark", viewport: { width: 900, height: 900 } });
  await page.getByRole("button", { name: "Swap" }).click();
  await page.locator("#page-compare .verdict", { hasText: "less" }).waitFor();
  const wide = await page.evaluate(() =>
    ["body", "#page-compare main"]
      .map((s) => document.querySelector(s))
      .map((e) => e.scrollWidth - e.clientWidth),
  );
  assert.ok(Math.max(...wide) <= 1, `the page does not scroll sideways: ${wide}`);
  await shot(page, "compare-dark.png");
  await page.close();
}

await browser.close();
assert.deepEqual(faults, []);
