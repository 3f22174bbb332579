// node where_page.mjs CHROMIUM URL FIGURES.json WHOLE WHATIF.json: the grid of ranks in a real browser. URL is what `pipescope serve` prints for a job of
// pp 4, dp 2, tp 2 and 2 steps, of which rank 6 is missing; FIGURES.json has what `pipescope query` says of each rank:
// {"METRIC":[[rank, value],...]}, times in ns. WHOLE is the address of the same job with rank 6, WHATIF.json what `pipescope whatif --json`
// says of it. PIPESCOPE_SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkEvidence } from "./evidence.mjs";
import { apiOf, launchUnseen } from "./page.mjs";
import { atRest } from "./rest.mjs";

const [executablePath, url, file, whole, whatif] = process.argv.slice(2);
const figures = JSON.parse(readFileSync(file, "utf8"));
const browser = await launchUnseen(executablePath);
const faults = [];

async function open(hash = "", options = {}, at = url) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 1000 },
    colorScheme: "light",
    locale: "en",
    ...options,
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(60_000);
  await page.goto(`${at}&tab=summary${hash}`);
  await page.waitForSelector("#where");
  await page.locator("#where").scrollIntoViewIfNeeded();
  return page;
}
const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
  }
};
const canvas = (page) => page.locator("#where canvas");

/** Cells of 44 px, 3 between replicas, 4 between stages; the first is at 64, 24. */
const middle = (rank) => {
  const [pp, dp, tp] = [Math.floor(rank / 4), Math.floor((rank % 4) / 2), rank % 2];
  return { x: 64 + (2 * dp + tp) * 44 + dp * 3 + 22, y: 24 + pp * 48 + 22 };
};
const tipOf = async (page, rank) => {
  await canvas(page).hover({ position: middle(rank) });
  await page.waitForFunction(
    (text) => document.querySelector(".hover-tip b")?.textContent?.startsWith(text),
    `rank ${rank},`,
  );
  return page.locator(".hover-tip").innerText();
};

// --- every figure of every rank is that of the command line -------------------------------------------------------------

/** The exact ns of a tip, or the number of its first line. */
function figureOf(tip) {
  const [, first] = tip.split("\n").map((line) => line.split("\t").at(-1));
  const ns = /^\s*([\u2212-]?[\d\u2009]+) ns$/m.exec(tip);
  return ns !== null
    ? Number(ns[1].replaceAll("\u2009", "").replace("\u2212", "-"))
    : Number.parseFloat(first.replace("\u2212", "-"));
}

{
  const page = await open();
  const offered = await page
    .locator("#where select")
    .first()
    .locator("option")
    .evaluateAll((all) => all.map((o) => o.value));
  const others = ["slowdown", "tokens"]; // of the replay, below; of experts, which this job has not
  assert.deepEqual(
    offered.filter((id) => figures[id] === undefined && !others.includes(id)),
    [],
    "every figure is compared",
  );
  for (const [metric, rows] of Object.entries(figures)) {
    await page.locator("#where select").selectOption(metric);
    await page.waitForFunction(
      (n) => document.querySelector("#where .unknown-key")?.textContent === n,
      `not known of ${16 - rows.length} of 16`,
    );
    const said = new Map(rows);
    // Of most figures four ranks: the first, the one that is missing, the slow one, the last.
    const ranks = /^(computing|receives|late)$/.test(metric)
      ? [...Array(16).keys()]
      : [0, 6, 9, 15];
    for (const rank of ranks) {
      const tip = await tipOf(page, rank);
      const value = said.get(rank);
      if (value === undefined) {
        assert.ok(tip.includes("not known"), `${metric} of rank ${rank}: ${tip}`);
      } else {
        // Shares and factors are shown with one and three decimals; times to the ns.
        const near =
          tip.includes(" %") && !tip.includes(" ns") ? 0.051 : tip.includes("×") ? 5.1e-4 : 0.51;
        const shown = figureOf(tip);
        assert.ok(Math.abs(shown - value) <= near, `${metric} of rank ${rank}: ${shown}, ${value}`);
      }
    }
  }
  const tip = await tipOf(page, 6);
  assert.ok(tip.includes("its profile is not here"), tip);
  assert.ok((await tipOf(page, 9)).includes("1, 5, 9, 13"), "whom it is joined with");
  await shot(page, "where.png");
  await page.close();
}

// --- the replay's figures: all of them, or the sentence that says why there are none ---------------------------------------

{
  const page = await open("&sum.metric=slowdown", {}, whole);
  await page.locator(".where-largest li", { hasText: "rank 9," }).first().waitFor();
  for (const { rank, slowdown } of JSON.parse(readFileSync(whatif, "utf8")).slowdown_by_worker) {
    assert.ok(
      (await tipOf(page, rank)).includes(`${slowdown.toFixed(3)} ×`),
      `slowdown of ${rank}`,
    );
  }
  await page.close();
  const lacking = await open("&sum.metric=slowdown");
  await lacking.locator("#where", { hasText: "those that are missing decide who waits" }).waitFor();
  await lacking.close();
}

// --- from a finding to each of its places ---------------------------------------------------------------------------------

{
  const page = await open("", {}, whole);
  assert.ok((await checkEvidence(page, apiOf(whole), "#page-summary", "summary")) > 10);
  await page.close();
}

// --- a click leads to the rank's step; Shift keeps it; keys do the same --------------------------------------------------

const hashOf = (page) =>
  page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

{
  const page = await open("&sum.step=2");
  await canvas(page).click({ position: middle(9), modifiers: ["Shift"] });
  await page.locator("#where [role=status] b", { hasText: "rank 9, pp2 dp0 tp1" }).waitFor();
  await canvas(page).focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("#where [role=status] b", { hasText: "rank 10," }).waitFor();
  await page.keyboard.press("ArrowUp"); // nobody is there: 6 has no profile, and yet a place
  await page.locator("#where [role=status] b", { hasText: "rank 6," }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#page-timeline:not([hidden])");
  await page.waitForFunction(() => location.hash.includes("tl.w="));
  await atRest(page);
  const { ranks } = await apiOf(url)("ranks");
  const rank = ranks.find((r) => r.rank === 10);
  const [, start, end] = rank.steps.find(([id]) => id === 2);
  const [since, part, span] = (await hashOf(page))["tl.w"].split("+");
  const from = Number(BigInt(since) - BigInt(rank.origin_ns)) + Number(part);
  const to = from + Number(span);
  const least = (end - start) / 1000;
  assert.ok(
    Math.abs(from - start) < least && Math.abs(to - end) < least,
    `the window is the step: ${from} ${to}: ${start} ${end}`,
  );
  assert.equal(await page.locator(".system select").inputValue(), rank.key, "its tables below");
  const kept = page.locator(".bottom-tabs", { hasText: "Of a span of" });
  await kept.waitFor(); // the tables are of the step
  await page.waitForFunction(() => location.hash.includes("tl.box="));
  await page.close();
}

{
  const page = await open("&sum.step=2&sum.goes=pipeline");
  await canvas(page).click({ position: middle(9) });
  await page.waitForSelector("#page-pipeline:not([hidden])");
  await page.locator("#page-pipeline", { hasText: "step 2 · pipeline 1" }).waitFor();
  await page.close();
}

// --- ranks that no communicator has alone: none is shown, and not all of them ---------------------------------------------

{
  const page = await open("&sum.at=9");
  const ofDp = page.getByRole("button", { name: "Communication of DP" });
  await page.waitForFunction(
    () => document.querySelector("#where [role=status] button:disabled") !== null,
  );
  assert.ok(await ofDp.isDisabled(), "there is nothing to open");
  const why = await ofDp.getAttribute("title");
  assert.match(why, /^No communicator of the capture has these ranks alone: /);
  assert.ok(await page.getByRole("button", { name: "Communication of PP" }).isEnabled());
  // An address may still lead there.
  const group = encodeURIComponent(`ranks ${why.split(": ")[1]}`);
  await page.evaluate(
    (to) => (location.hash = `#tab=communication&comm.view=duration&comm.group=${to}`),
    group,
  );
  await page
    .locator("#page-communication", { hasText: "No communicator of the capture" })
    .waitFor();
  assert.equal(await page.locator("#page-communication .grid-row").count(), 0);
  await page.getByRole("button", { name: "Show all communicators" }).click();
  await page.locator("#page-communication .grid-row").first().waitFor();
  await page.close();
}

// --- of many ranks the operators of those in sight are drawn, below an axis that stays -------------------------------------

{
  const page = await open("&comm.view=duration", {}, whole);
  await page.locator("header").getByText("Communication", { exact: true }).click();
  const axis = page.locator("canvas[aria-label^='Operators in time']");
  const [box, rows] = [await axis.boundingBox(), page.locator(".span-rows")];
  assert.ok(
    box.height < (await rows.evaluate((e) => e.scrollHeight)),
    "one row is below the others",
  );
  await rows.evaluate((e) => (e.scrollTop = e.scrollHeight));
  const tip = page.locator(".hover-tip", { hasText: "rank 15" });
  for (let x = 100; x < box.width && (await tip.count()) === 0; x += 12) {
    await axis.hover({ position: { x, y: box.height - 15 } });
  }
  assert.match(await tip.innerText(), /hcom_/, "an operator of the last rank");
  await page.close();
}

// --- links, of which the job has none of its own: the slowest first, those alike by name, those without a time last --------------

{
  const of = (src, dst, mb, ms) => [
    "1",
    "Total Op Info",
    "tp",
    src,
    dst,
    "HCCS",
    "",
    mb,
    ms,
    ms > 0 ? mb / ms : 0,
  ];
  // GB/s: 10, 4, 4, 20, none.
  const rows = [of(3, 0, 10, 1), of(2, 1, 8, 2), of(0, 1, 4, 1), of(1, 0, 60, 3), of(0, 2, 4, 0)];
  const names = [
    "step",
    "hccl_op_name",
    "group_name",
    "src_rank",
    "dst_rank",
    "transport_type",
    "op_name",
  ];
  const columns = [
    ...names.map((name) => [name, /rank$/.test(name) ? "int" : "text", "", false]),
    ...[
      ["transit_size", "MB"],
      ["transit_time", "ms"],
      ["bandwidth", "GB/s"],
    ].map(([name, unit]) => [name, "real", unit, false]),
  ];
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, locale: "en" });
  page.on("pageerror", (error) => faults.push(error.message));
  await page.route(/api\/mode\?.*name=communication_matrix_sum/, (route) => {
    const isMain = route.request().url().includes("ClusterCommunicationMatrix");
    const own = isMain ? rows : [];
    const name = isMain ? "ClusterCommunicationMatrix" : "LinksOfUnknownRanks";
    return route.fulfill({
      json: { name, title: "", columns, total: own.length, offset: 0, rows: own, notes: [] },
    });
  });
  await page.goto(`${whole}&tab=communication&comm.view=matrix`);
  const table = page.locator("#page-communication .columns-matrix .table");
  await table.locator(".grid-row").nth(4).waitFor();
  const heads = await table.locator(".head-name").allInnerTexts();
  const at = heads.indexOf("Bandwidth");
  const cells = await table
    .locator(".grid-row")
    .evaluateAll((all) =>
      all
        .sort(
          (a, b) =>
            Number(a.getAttribute("aria-rowindex")) - Number(b.getAttribute("aria-rowindex")),
        )
        .map((row) =>
          [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.innerText.trim()),
        ),
    );
  assert.deepEqual(
    cells.map((row) => [row[0], row[1], Number.parseFloat(row[at])]),
    [
      ["0", "1", 4],
      ["2", "1", 4],
      ["3", "0", 10],
      ["1", "0", 20],
      ["0", "2", NaN],
    ],
    heads.join(),
  );
  assert.equal(cells[4][at], "\u2013", "its bandwidth is not known");
  // Each cell of the matrix says the same.
  const map = page.getByRole("img", { name: /^Matrix/ });
  const box = await map.boundingBox();
  const told = new Map();
  for (let x = 40; x < box.width; x += 25) {
    for (let y = 20; y < box.height; y += 25) {
      await page.mouse.move(box.x + x, box.y + y);
      const tip = await page.evaluate(() => document.querySelector(".hover-tip")?.innerText ?? "");
      const [, src, dst] = /from (\d+) to (\d+)/.exec(tip) ?? [];
      told.set(`${src} ${dst}`, tip);
    }
  }
  for (const [src, dst, value] of cells.map((row) => [row[0], row[1], row[at]])) {
    const tip = told.get(`${src} ${dst}`) ?? "none";
    const [, shown] = /([\d.]+) GB\/s/.exec(tip) ?? [];
    assert.equal(Number(shown), Number.parseFloat(value), `${src} ${dst}: ${tip}`);
  }
  await page.close();
}

// --- a filter: bars and table keep to it; the address holds all of it; ranks without places -------------------------------

{
  const page = await open("&sum.where=pp%3D2&sum.at=9&sum.metric=waiting");
  assert.equal(await page.locator("#where select").inputValue(), "waiting");
  await page.locator("#where [role=status] b", { hasText: "rank 9," }).waitFor();
  const rows = page.locator("#page-summary .card.flush .grid-row");
  await rows.nth(3).waitFor();
  const first = await rows.evaluateAll((all) =>
    all.map((r) => r.querySelector("[role=gridcell]").textContent.trim()),
  );
  assert.deepEqual(
    first.filter((text) => /^\d+$/.test(text)),
    ["8", "9", "10", "11"],
  );
  const stages = first.filter((text) => text.startsWith("stage "));
  assert.ok(
    stages.length > 0 && stages.every((s) => s.endsWith(", largest of its ranks")),
    `${first}`,
  );
  await page.locator("#where input[placeholder='pp=2 dp=0-3']").fill("pp=");
  assert.equal(await page.locator("#where input.wrong").count(), 1);
  await page.close();
}

// --- 16,384 ranks, of which 15 are here -------------------------------------------------------------------------------------

{
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, locale: "en" });
  page.on("pageerror", (error) => faults.push(error.message));
  const reply = await apiOf(url)("summary");
  await page.route(/api\/summary/, async (route) => {
    const places = Array.from({ length: 16384 }, (_, rank) => ({
      rank,
      key: "",
      pp: rank >> 10,
      dp: (rank >> 3) & 127,
      cp: 0,
      tp: rank & 7,
      ep: 0,
    }));
    const tp = places.map((p) => p.rank >> 3);
    await route.fulfill({
      json: { ...reply, problems: [], problem_kinds: [], places, groups: { tp } },
    });
  });
  await page.goto(`${url}&tab=summary`);
  await page.locator("#where .unknown-key", { hasText: "not known of 16369 of 16384" }).waitFor();
  await page.close();
}

await browser.close();
assert.deepEqual(faults, []);
