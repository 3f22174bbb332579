// node calls_page.mjs CHROMIUM URL RANK.json ALL.json: the page of calls in a real browser. URL is what `pipescope serve` prints for
// `simulate 1f1b --pp 2 --microbatches 4 --steps 2 --filler 20 --profile`; the files are what `pipescope query` says of the call tree of
// rank 0 and of all ranks. PIPESCOPE_SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launchUnseen } from "./page.mjs";
import { atRest } from "./rest.mjs";

const [executablePath, url, rankFile, allFile] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);
const faults = [];
const rowsOf = (file) => JSON.parse(readFileSync(file, "utf8"));

async function open(hash = "", options = {}) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 1600 }, // all rows of the tree are in sight
    colorScheme: "light",
    acceptDownloads: true,
    locale: "en",
    ...options,
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(60_000);
  await page.goto(`${url}&tab=calls${hash}`);
  await page.waitForSelector("#page-calls .grid-row");
  return page;
}
const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
  }
};
const flame = (page) => page.locator("#page-calls .drawing canvas").first();
const heading = (page) => page.locator("#page-calls h3.mono").innerText();

// --- the table has the figures of the command line --------------------------------------------------------------------

async function firstRow(page, level) {
  const rows = await page.locator("#page-calls .card.flush .grid-row").all();
  const cells = await rows[level].getByRole("gridcell").allInnerTexts();
  return cells.map((c) => c.trim());
}

{
  const page = await open();
  await page.getByRole("button", { name: "Time of threads" }).click();
  // The table stands by the time that is looked at.
  const largest = rowsOf(rankFile).reduce((a, b) => (b.host_total_ns > a.host_total_ns ? b : a));
  const cells = await firstRow(page, 1);
  const name = /'name': '(.+?)'/.exec(largest.name)?.[1] ?? largest.name;
  assert.ok(cells.includes(name), cells.join("|"));
  assert.ok(cells.includes(String(largest.number)), `${largest.number}: ${cells.join("|")}`);
  await shot(page, "calls.png");
  await page.close();
}

// --- choosing, going down, back up, by keys ----------------------------------------------------------------------------

{
  const page = await open();
  assert.equal(await heading(page), "all");
  await flame(page).focus();
  await page.keyboard.press("ArrowDown");
  const first = await heading(page);
  assert.notEqual(first, "all");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /ct\.focus=/.test(location.hash));
  await page.keyboard.press("ArrowDown");
  const below = await heading(page);
  assert.notEqual(below, first);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !/ct\.focus=/.test(location.hash));
  // A click on the second row chooses what lies there.
  const place = await flame(page).boundingBox();
  await page.mouse.click(place.x + 40, place.y + 30);
  assert.equal(await heading(page), first);
  await page.mouse.move(place.x + 42, place.y + 30);
  assert.match(await page.locator(".hover-tip").innerText(), /Devices, with all below/);
  await page.close();
}

// --- finding, directions, all ranks ------------------------------------------------------------------------------------

{
  const page = await open();
  await page.keyboard.press("/");
  await page.keyboard.type("matmul");
  const status = await page.locator("#page-calls [role=status]").innerText();
  assert.match(status, /^\d+ found, [\d.]+ % of the time$/);
  await shot(page, "calls-found.png");
  await page.getByRole("button", { name: "From the bottom" }).click();
  await page.waitForFunction(() => /ct\.by=callees/.test(location.hash));
  await page.getByLabel("Rank").selectOption("all");
  await page.waitForSelector("#page-calls .grid-row");
  await page.waitForFunction(() => /ct\.rank=all/.test(location.hash));
  await page.getByRole("button", { name: "From the top" }).click();
  await page.waitForFunction(
    () => document.querySelectorAll("#page-calls .card.flush .grid-row").length > 1,
  );
  const [largest] = rowsOf(allFile);
  const cells = await firstRow(page, 1);
  assert.ok(cells.includes(String(largest.number)), `${largest.number}: ${cells.join("|")}`);
  await page.close();
}

// --- to the timeline, and from its box back ----------------------------------------------------------------------------

{
  const page = await open();
  await flame(page).focus();
  await page.keyboard.press("ArrowDown"); // launched by nothing known: no slices of its own
  await page.keyboard.press("ArrowDown");
  const slices = page.locator("#page-calls .card:not(.flush) .grid-row");
  await slices.first().waitFor();
  await slices.first().dblclick();
  await page.waitForFunction(() => /tab=timeline/.test(location.hash));
  await page.waitForFunction(() => /tl\.sel=|tl\.selected=|tl\.slice=/.test(location.hash));
  await atRest(page); // the address is there before the page that takes keys
  await page.keyboard.press("m");
  await page.getByRole("button", { name: "Calls of the box" }).click();
  await page.waitForFunction(() => /ct\.scope=box/.test(location.hash));
  await page.waitForSelector("#page-calls .grid-row");
  await page.close();
}

// --- the table on opening, in another language, filtered -----------------------------------------------------------------

{
  const page = await open("", { viewport: { width: 1280, height: 800 } });
  const grid = page.locator("#page-calls .card.flush .grid");
  await page.evaluate(() => window.atRest(2000));
  assert.equal(await grid.evaluate((e) => e.scrollTop), 0, "the row of all is in sight");
  const rows = grid.locator(".grid-row");
  const last = Number(await grid.getAttribute("aria-rowcount")) - 1;
  await grid.evaluate((e) => (e.scrollTop = e.scrollHeight));
  const row = grid.locator(`[aria-rowindex="${last + 1}"]`);
  await row.click();
  const isSeen = () =>
    grid.evaluate((e) => {
      const [own, all] = [e.querySelector(".grid-row.marked"), e].map((one) =>
        one?.getBoundingClientRect(),
      );
      return own !== undefined && own.bottom <= all.bottom + 1 && own.top >= all.top;
    });
  assert.ok(await isSeen());
  await page.locator(".lang").first().click();
  await page.getByText("调用树").first().waitFor();
  await page.waitForFunction(() => document.querySelector("#page-calls .grid-row.marked") !== null);
  assert.ok(await isSeen(), "what is chosen stays in sight");
  await page.locator(".lang").first().click();
  // What stands above those that pass is not counted.
  await page
    .locator("#page-calls .card.flush")
    .getByRole("button", { name: "Filter columns" })
    .click();
  await page.locator("#page-calls .card.flush .grid-top input").first().fill("matmul");
  const said = page.locator("#page-calls .card.flush .table-title");
  await said.getByText(/pass(es)? the filter/).waitFor();
  const n = Number(/(\d+) rows? pass/.exec(await said.innerText())[1]);
  assert.ok(n > 0 && n < (await rows.count()), `${n} pass`);
  await page.close();
}

// --- saved as SVG, dark, narrow, Chinese -------------------------------------------------------------------------------

{
  const page = await open("", {
    colorScheme: "dark",
    viewport: { width: 900, height: 900 },
    locale: "zh",
  });
  const wide = await page.evaluate(() => document.body.scrollWidth - document.body.clientWidth);
  assert.ok(wide <= 1, "no sideways scrolling");
  await shot(page, "calls-dark.png");
  await page.close();
}
{
  const page = await open();
  await page.getByRole("button", { name: "Save a picture or a table" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".menu-line", { hasText: "Calls: " }).getByRole("button", { name: "SVG" }).click(),
  ]);
  const svg = readFileSync(await download.path(), "utf8");
  assert.match(svg, /^<svg [^>]*>/);
  assert.match(svg, /<title>Calls: From the top, /);
  assert.match(svg, />all</);
  // It says what it is of where it travels alone, each box has its whole name, and what is chosen on the page is no part of it.
  assert.match(
    download.suggestedFilename(),
    /^Calls_\w+_rank_0_the_whole_capture_From_the_top\.svg$/,
  );
  assert.match(
    svg,
    />\w+ · rank 0 · the whole capture · From the top · full width: all, [^<]* ms</,
  );
  assert.ok((svg.match(/<g><title>/g) ?? []).length > 3);
  assert.doesNotMatch(svg, /fill="none"/, "no frame");
  await page.close();
}

await browser.close();
assert.deepEqual(faults, []);
