// node pipeline_page.mjs CHROMIUM URL ALONE OVERLAPPING: the pipeline page in a real browser. URL, ALONE and OVERLAPPING are what
// `pipescope serve` prints for `simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --profile`, for a capture without a pipeline, and for
// `simulate dualpipev --pp 4 --microbatches 10 --steps 2 --jitter 5 --profile`.
// PIPESCOPE_SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkEvidence } from "./evidence.mjs";
import { apiOf, launchUnseen, shownName } from "./page.mjs";
import { atRest } from "./rest.mjs";

const [executablePath, url, alone, overlapping] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);
const faults = [];
// The machine may be busy with others.
const PATIENCE = 90_000;

async function open(address, hash = "", options = {}) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 720 },
    colorScheme: "light",
    acceptDownloads: true,
    locale: "en",
    ...options,
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${address}&tab=pipeline${hash}`);
  await page.waitForSelector(".chart .names div");
  await settle(page);
  return page;
}
const settle = (page) => atRest(page);
const hash = (page, layer) =>
  page.evaluate((name) => {
    const canvas = document.querySelector(`.chart canvas.${name}`);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    for (let i = 0; i < data.length; i += 4) {
      sum = (sum * 31 + data[i] * 65536 + data[i + 1] * 256 + data[i + 2] + data[i + 3]) | 0;
    }
    return sum;
  }, layer);
const facts = (page) => page.locator(".pl-what p").innerText();
const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
  }
};
/** Where stage `row` is at `ms` of a step of `of` ms. */
const point = async (page, row, ms, of = 330) => {
  const box = await page.locator(".chart .plot").boundingBox();
  const name = await page.locator(".chart .names div:not(.heading)").nth(row).boundingBox();
  return [box.x + (box.width * ms) / of, name.y + name.height / 2];
};

// --- what is shown: rows, figures, hover, window ------------------------------------------------------------------------

{
  const page = await open(url);
  assert.match(await facts(page), /1f1b.*step 1.*pipeline 0.*330 ms.*bubble 27\.3 %/);
  assert.equal(await page.locator(".chart .names div").count(), 4);
  assert.match(await page.locator(".chart .shares").innerText(), /72\.7/);
  assert.match(
    await page.locator(".chart .shares").innerText(),
    /stage 1/,
    "the neighbour that is waited for",
  );
  assert.match(await page.locator(".pp-legend").innerText(), /F forward[\s\S]*waiting: stall/);

  const still = await hash(page, "over");
  await page.mouse.move(...(await point(page, 1, 15)));
  await settle(page);
  assert.match(await page.locator(".pp-tip").innerText(), /microbatch\s+0/);
  assert.notEqual(await hash(page, "over"), still, "the microbatch lights up in every stage");
  await shot(page, "pipeline-hover.png");
  await page.mouse.move(...(await point(page, 0, 70)));
  await settle(page);
  assert.match(await page.locator(".pp-tip").innerText(), /waiting, stall[\s\S]*waits for/);
  await page.mouse.move(2, 2);

  const whole = await hash(page, "base");
  for (const keys of [
    ["+", "ArrowRight"],
    ["w", "d"],
  ]) {
    for (const key of keys) {
      const before = await hash(page, "base");
      await page.keyboard.press(key);
      await settle(page);
      assert.notEqual(await hash(page, "base"), before, key);
    }
    await page.keyboard.press("0");
    await settle(page);
    assert.equal(await hash(page, "base"), whole, "0 shows everything");
  }
  // The keyboard chooses a block before any click: Tab leads to the chart, arrows go on from there.
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement?.className === "over")) {
      break;
    }
  }
  await page.keyboard.press("ArrowRight");
  const first = await page.locator(".pp-tip").innerText();
  assert.match(first, /stage\s+0[\s\S]*microbatch\s+0/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator(".pp-tip").innerText(), /stage\s+1/);
  assert.equal(await hash(page, "base"), whole, "what is in sight stays there");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".pp-tip:visible").count(), 0);
  await page.evaluate(() => document.activeElement?.blur());
  await page.mouse.move(...(await point(page, 1, 200)));
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await settle(page);
  const zoomed = await hash(page, "base");
  assert.notEqual(zoomed, whole, "Ctrl + wheel zooms");
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, 120);
  await page.keyboard.up("Shift");
  await settle(page);
  assert.notEqual(await hash(page, "base"), zoomed, "Shift + wheel pans");
  // It follows the window with a little delay: once it has caught up it stays.
  await page.waitForFunction(() => {
    const known = window.addressBefore;
    const now = performance.now();
    if (known === undefined || known.hash !== location.hash) {
      window.addressBefore = { hash: location.hash, since: now };
      return false;
    }
    return location.hash.includes("pp.window=") && now - known.since > 600;
  });
  // The address alone brings the same view back.
  const again = await open(
    url,
    `&${page
      .url()
      .split("#")[1]
      .split("&")
      .filter((p) => p.startsWith("pp."))
      .join("&")}`,
  );
  assert.equal(await hash(again, "base"), await hash(page, "base"), "the address holds the window");
  await again.close();
  await page.close();
}

// --- steps, pipelines, arrows, tables -----------------------------------------------------------------------------------

{
  const page = await open(url);
  await page.keyboard.press("]");
  await settle(page);
  assert.match(await facts(page), /step 2/);
  await page.keyboard.press("[");
  await page.selectOption("select[aria-label=step]", "all");
  await settle(page);
  assert.match(await facts(page), /all 3 steps/);
  await page.selectOption("select[aria-label=step]", "1");
  await page.selectOption("select[aria-label=pipeline]", "all");
  await settle(page);
  assert.equal(await page.locator(".chart .names .heading").count(), 2);
  assert.equal(await page.locator(".chart .names div:not(.heading)").count(), 8);
  await shot(page, "pipeline-all.png");
  await page.selectOption("select[aria-label=pipeline]", "0");
  const plain = await hash(page, "over");
  await page.keyboard.press("f");
  await settle(page);
  assert.notEqual(await hash(page, "over"), plain, "arrows");
  await page.keyboard.press("f");
  for (const [tab, has] of [
    ["Stages", /4 rows/],
    ["Critical path", /Critical path: its links[\s\S]*Stage[\s\S]*Rank[\s\S]*1 row/],
    ["Waits", /4 rows[\s\S]*Path/],
    ["Other schedules", /zb-h2/],
  ]) {
    await page.click(`.pl-bottom [role=tab]:has-text("${tab}")`);
    await settle(page);
    assert.match(await page.locator(".pl-bottom .bottom-body").innerText(), has, tab);
  }
  await page.locator(".pl-table .grid-row", { hasText: "zb-h2" }).click();
  await page.waitForFunction(() =>
    document.querySelector(".pl-what p").textContent.includes("below: zb-h2"),
  );
  await shot(page, "pipeline-theory.png");
  // Rows that go on below the edge are said to, until they have been scrolled to.
  const isMore = (is) =>
    page.waitForFunction((so) => (document.querySelector(".chart.more-below") !== null) === so, is);
  await page.setViewportSize({ width: 1000, height: 440 });
  await isMore(true);
  await page.locator(".pl-scroll").evaluate((e) => (e.scrollTop = e.scrollHeight));
  await isMore(false);
  await page.close();
}

// --- simulating ---------------------------------------------------------------------------------------------------------

{
  const page = await open(url);
  await page.click(".pl-bottom [role=tab]:has-text('Simulate')");
  await page.waitForFunction(() =>
    document.querySelector(".sim-out dd")?.textContent.includes("330 ms"),
  );
  const before = await hash(page, "base");
  // Half of each stage: half of the step.
  for (let s = 0; s < 4; s++) {
    await page.locator(".sim-factor input[type=number]").nth(s).fill("0.5");
    await page.keyboard.press("Tab");
  }
  await page.waitForFunction(() =>
    document.querySelector(".sim-out dd")?.textContent.includes("165 ms"),
  );
  await settle(page);
  assert.match(await page.locator(".sim-out").innerText(), /−50\.0 %/);
  assert.match(
    await page.locator(".sim-compared").innerText(),
    /^1f1b 165 ms: 165 ms \(50\.0 %\) less than .* replayed .*, 330 ms with a bubble of .* \(durations differ\); measured 330 ms/,
  );
  assert.notEqual(await hash(page, "base"), before, "drawn at once");
  await page.waitForFunction(() => location.hash.includes("pp.sim-factors="));
  assert.match(await page.locator(".sim-out").innerText(), /first op of the step to its last/);
  assert.equal(await page.locator(".sim-pieces").count(), 0);
  await page.selectOption(".sim-shape select", "zb-v");
  await page.waitForSelector(".sim-pieces");
  assert.match(await page.locator(".sim-pieces").innerText(), /one chunk: .* runs 2/);
  await page.selectOption(".sim-shape select", "dualpipev");
  await page.locator(".sim-shape input[type=number]").nth(1).fill("3");
  await page.keyboard.press("Tab");
  await page.waitForSelector(".sim-wrong");
  assert.match(await page.locator(".sim-wrong").innerText(), /at least 2p = 8 microbatches/);
  await page.getByRole("button", { name: "As measured" }).click();
  await page.waitForFunction(() =>
    document.querySelector(".sim-out dd")?.textContent.includes("330 ms"),
  );
  await shot(page, "pipeline-simulate.png");

  // With nothing below the rows the form says what was measured, also after another page.
  const filled = () =>
    page
      .locator(".sim-shape input[type=number], .sim-time input[type=text]")
      .evaluateAll((all) => all.map((field) => field.value).join());
  const values = await filled();
  assert.match(values, /^4,8,10,/);
  // A field takes a change of what was measured, and shows what came of it.
  const forward = page.getByLabel("F forward ms");
  await forward.fill("-10 %");
  await forward.press("Enter");
  await page.waitForFunction(() => location.hash.includes("pp.sim-f_ns=9000000"));
  assert.equal(await forward.inputValue(), "9");
  await page.getByRole("button", { name: "As measured" }).click();
  await page.waitForFunction(() =>
    document.querySelector(".sim-out dd")?.textContent.includes("330 ms"),
  );
  await page.selectOption(".pl-under", "none");
  await page.click("nav.tabs [role=tab]:has-text('Timeline')");
  await page.waitForSelector("#page-timeline canvas");
  await page.click("nav.tabs [role=tab]:has-text('Pipeline')");
  await settle(page);
  await page.waitForFunction(
    () => document.querySelector(".sim-shape input[type=number]")?.value === "4",
  );
  assert.equal(await filled(), values);
  await page.close();
}
{
  const page = await open(alone);
  assert.match(
    await page.locator(".pl-none").innerText(),
    /docs\/marks\.md/,
    "what is missing and how to collect it",
  );
  assert.match(
    await facts(page),
    /330 ms.*bubble 27\.3 %/,
    "a schedule can be simulated all the same",
  );
  await shot(page, "pipeline-none.png");
  await page.close();
}

// --- to the timeline and back -------------------------------------------------------------------------------------------

{
  const page = await open(url);
  await page.mouse.move(...(await point(page, 2, 60)));
  await page.keyboard.down("Shift");
  await page.mouse.down();
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await settle(page);
  assert.match(page.url(), /tab=pipeline/, "Shift + click stays");
  await page.mouse.down();
  await page.mouse.up();
  // The timeline has gone there when its window stands in the address.
  await page.waitForFunction(
    () => location.hash.includes("tab=timeline") && location.hash.includes("tl.w="),
  );
  await settle(page);
  await shot(page, "pipeline-to-timeline.png");
  // The op is the middle of what is shown: its menu leads back to the block.
  const lanes = await page
    .locator("#page-timeline canvas")
    .evaluateAll(
      (all) =>
        all
          .map((c) => c.getBoundingClientRect())
          .sort((a, b) => b.width * b.height - a.width * a.height)[0],
    );
  const lane = await page
    .locator('#page-timeline .tl-row[data-id*="/stream/"][data-id*="/marks/"]')
    .first()
    .boundingBox();
  await page.mouse.click(lanes.x + lanes.width / 2, lane.y + lane.height / 2, { button: "right" });
  await page
    .locator(".menu-item, [role=menuitem]", { hasText: "Show in the pipeline chart" })
    .first()
    .click();
  await page.waitForFunction(
    () => location.hash.includes("tab=pipeline") && location.hash.includes("pp.window="),
  );
  await settle(page);
  const [from, to] = /pp\.window=(\d+)(?:,|%2C)(\d+)/.exec(page.url()).slice(1).map(Number);
  assert.ok(from < 60e6 && to > 60e6 && to - from < 330e6, `back at 60 ms: ${from} to ${to}`);
  await shot(page, "pipeline-back.png");
  await page.close();
}

// --- exact both ways ---------------------------------------------------------------------------------------------------

{
  const api = apiOf(overlapping);
  const { ranks } = await api("ranks");
  const { ops, origin_ns: origin } = await api("chart", { format: "json" });
  // Hosts run ahead of their devices here, so that looking one up in the other's time finds another op.
  const picked = ["10w", "11w"].map((name) =>
    ops.find((o) => o.name === name && o.step === 2 && o.host_start_ns !== undefined),
  );
  for (const op of picked) {
    const rank = ranks.find((r) => r.rank === op.rank);
    const shift = Number(BigInt(origin) - BigInt(rank.origin_ns));
    const at = async (from, to) =>
      (await api("slice_at", { rank: rank.key, start: from + shift, end: to + shift })).ref;
    const host = await at(op.host_start_ns, op.host_end_ns);
    const device = await at(op.start_ns, op.end_ns);
    assert.ok(host !== null && device !== null && host.slice !== device.slice, op.name);
    for (const ref of [host, device]) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, locale: "en" });
      page.on("pageerror", (error) => faults.push(error.message));
      page.setDefaultTimeout(PATIENCE);
      await page.goto(`${overlapping}&tab=timeline&tl.sel=${rank.key}:${ref.slice}`);
      await page
        .locator(".detail", { hasText: shownName(ref.name) })
        .first()
        .waitFor();
      await page.keyboard.press("Shift+P");
      await page.waitForFunction(() => location.hash.includes("pp.window="));
      await page.waitForFunction(() => document.activeElement?.className === "over");
      await settle(page);
      const [from, to] = /pp\.window=(\d+)(?:,|%2C)(\d+)/.exec(page.url()).slice(1).map(Number);
      const inStep = ops.filter(
        (o) => o.step === op.step && o.kind !== "RECV" && o.kind !== "SEND",
      );
      const begin = Math.min(...inStep.map((o) => o.start_ns));
      const middle = (op.start_ns + op.end_ns) / 2 - begin;
      assert.ok(
        Math.abs((from + to) / 2 - middle) < 1000,
        `${op.name} from its ${ref.kind}: ${from} to ${to}, not about ${middle}`,
      );
      // And back: a click on the block selects the device's slice.
      const box = await page.locator(".chart .plot").boundingBox();
      const row = await page.locator(".chart .names div:not(.heading)").nth(op.stage).boundingBox();
      await page.mouse.click(box.x + box.width / 2, row.y + row.height / 2);
      await page.waitForFunction(() => location.hash.includes("tab=timeline"));
      await page.waitForFunction(
        (wanted) => decodeURIComponent(location.hash).includes(wanted),
        `tl.sel=${rank.id}:${device.slice}`,
      );
      await page.close();
    }
  }
}

// --- from a finding to its place ---------------------------------------------------------------------------------------

{
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: "en" });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${url}&tab=summary`);
  assert.ok((await checkEvidence(page, apiOf(url), "#page-summary", "summary")) > 5);
  await page.close();
}

// --- the pipeline in the timeline --------------------------------------------------------------------------------------

{
  // A rank that was closed opens, and the lane of the block is in sight, also of the last stage.
  const page = await open(overlapping);
  const chart = await page.locator(".chart .plot").boundingBox();
  const row = await page.locator(".chart .names div:not(.heading)").last().boundingBox();
  await page.mouse.click(chart.x + chart.width / 3, row.y + row.height / 2);
  await page.waitForFunction(() => location.hash.includes("tl.sel="));
  const lane = page.locator(".tl-row", { hasText: /default$/ });
  await lane.first().waitFor();
  await atRest(page);
  const list = await page.locator(".tl-scroll").boundingBox();
  const places = await Promise.all((await lane.all()).map((l) => l.boundingBox()));
  assert.ok(
    places.some((b) => b.y >= list.y && b.y + b.height <= list.y + list.height),
    "the lane of the block is in sight",
  );
  await page.close();
}
{
  // A gap: what the device did meanwhile was to receive.
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: "en" });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${overlapping}&tab=timeline`);
  const label = page.locator(".tl-row", { hasText: "Pipeline, stage 0" }).first();
  await label.waitFor();
  await settle(page);
  // By keys: from the rank down to its pipeline, and into it.
  await page.locator(".tl-row.tl-rank").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => /\|pipeline$/.test(document.activeElement?.dataset.id ?? ""));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("tl.sel="));
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("tl.sel="));
  const { y, height } = await label.boundingBox();
  const isGap = async (x) => {
    await page.mouse.move(x, y + height / 2);
    await settle(page);
    return /waiting, stall/.test((await page.locator(".tl-tip").allInnerTexts()).join());
  };
  let x = 300;
  while (!(await isGap(x))) {
    x += 4;
    assert.ok(x < 1200, "a stall");
  }
  await page.mouse.click(x, y + height / 2);
  await page.locator(".slice-list .grid-row", { hasText: "hcom_receive" }).first().waitFor();
  await page.waitForFunction(() => location.hash.includes("tl.box="));
  const boxed = new URL(page.url()).hash.slice(1);
  // The line of the critical path over other lanes, on its way to another rank: it says what it joins, and leads to the later block.
  const isLine = async (at) => {
    await page.mouse.move(at, y + height + 12);
    await settle(page);
    return /→[\s\S]*critical path[\s\S]*stage[\s\S]*waited before/.test(
      (await page.locator(".tl-tip").allInnerTexts()).join(),
    );
  };
  for (x = 300; !(await isLine(x)); x += 3) {
    assert.ok(x < 1200, "the line of the critical path");
  }
  await shot(page, "pipeline-line.png");
  await page.mouse.click(x, y + height + 12);
  await page.waitForFunction(() => location.hash.includes("tl.sel="));
  await page.close();

  // The box leads to the gap in the chart, and that back to the lanes of the device, not to the receive that lasts as long.
  const again = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: "en" });
  again.on("pageerror", (error) => faults.push(error.message));
  again.setDefaultTimeout(PATIENCE);
  await again.goto(`${overlapping}&${boxed}`);
  await again.locator(".tl-row", { hasText: "Pipeline, stage 0" }).first().waitFor();
  await again.locator(".bottom-tabs").getByText("System View").click();
  await again.keyboard.press("Shift+P");
  await again.waitForFunction(() => document.activeElement?.className === "over");
  await again.waitForFunction(() => location.hash.includes("pp.window="));
  await again.keyboard.press("Enter");
  await again.waitForFunction(() => location.hash.includes("tab=timeline"));
  await again.locator(".slice-list .grid-row", { hasText: "hcom_receive" }).first().waitFor();
  await again.close();
}

{
  // What is said of a pair schedule: how much of it overlaps, in one line; the rest is a note.
  const page = await open(overlapping);
  assert.match(await facts(page), /dualpipev.*overlapped \d\d\.\d % of busy/);
  const numbers = /Numbers count on from chunk to chunk: op 10 is microbatch 0 of chunk 1\./g;
  const told = (await page.locator("body").innerText()).match(numbers) ?? [];
  assert.equal(told.length, 1, "what numbers mean stands in the legend, and once");
  assert.doesNotMatch(await facts(page), /Numbers count on/);
  const notes = page.locator(".pl-notes");
  assert.match(await notes.locator("summary").getAttribute("title"), /carry no mark/);
  await notes.locator("summary").click();
  assert.match(await notes.locator("ul").innerText(), /carry no mark/);
  await page.close();
}

// --- pictures -----------------------------------------------------------------------------------------------------------

{
  const page = await open(url);
  for (const [kind, begins] of [
    ["svg", "<svg"],
    ["png", "\x89PNG"],
  ]) {
    await page.click("button[aria-label='Save a picture or a table']");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.locator(".menu-line button", { hasText: kind.toUpperCase() }).first().click(),
    ]);
    assert.ok(readFileSync(await file.path(), "latin1").includes(begins), kind);
  }
  await page.close();
}
await browser.close();
assert.deepEqual(faults, []);
