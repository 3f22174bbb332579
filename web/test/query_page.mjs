// node query_page.mjs CHROMIUM URL ROWS.json: the SQL page in a real browser. URL is what `pipescope serve` prints for
// `simulate 1f1b --pp 4 --microbatches 8 --steps 2 --profile`, ROWS.json what `pipescope query` says of the query below.
// PIPESCOPE_SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launchUnseen } from "./page.mjs";

const [executablePath, url, rowsFile] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);
const faults = [];
const expected = JSON.parse(readFileSync(rowsFile, "utf8"));
const SQL =
  "SELECT rank, name, count(*) AS calls, sum(dur_ns) AS total_ns\nFROM slice\nWHERE rank IN (1, 2)\nGROUP BY rank, name\nORDER BY rank, name";

async function open(hash = "", options = {}) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    acceptDownloads: true,
    locale: "en",
    ...options,
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(60_000);
  await page.goto(`${url}&tab=query${hash}`);
  await page.waitForSelector(".query-schema");
  return page;
}
const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
  }
};
const editor = (page) => page.getByRole("combobox", { name: "Query in SQL" });
const items = (page) => page.locator(".query-list:not([hidden]) li code").allInnerTexts();
const facts = (page) => page.locator(".query-facts").innerText();
const firstRows = async (page, n) => {
  const out = [];
  for (const row of (await page.locator("#page-query .grid-row").all()).slice(0, n)) {
    out.push(await row.getByRole("gridcell").allInnerTexts());
  }
  return out;
};
const query = (sql) => `&${new URLSearchParams({ "sql.q": sql })}`;

// --- typing: completion by keys, Ctrl+Enter ---------------------------------------------------------------------------

{
  const page = await open();
  await editor(page).click();
  await page.keyboard.type("SELECT na");
  assert.deepEqual(await items(page), ["name_like("], "no table is named yet");
  await page.keyboard.press("Escape");
  assert.deepEqual(await items(page), []);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("SELECT count(*) FROM sli");
  assert.equal((await items(page))[0], "slice");
  await shot(page, "query-completion.png");
  await page.keyboard.press("Tab");
  assert.equal(await editor(page).inputValue(), "SELECT count(*) FROM slice");
  assert.ok(
    await editor(page).evaluate((node) => node === document.activeElement),
    "Tab completes",
  );
  await page.keyboard.type(" s WHERE s.ki");
  assert.deepEqual(await items(page), ["kind"]);
  assert.equal(await editor(page).getAttribute("aria-activedescendant"), "query-item-0");
  await page.keyboard.press("Enter");
  await page.keyboard.type(" = 'nothing'");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".query-facts");
  assert.match(await facts(page), /^1 row · /);
  assert.deepEqual(await firstRows(page, 1), [["0"]]);
  const { q } = Object.fromEntries(
    [...new URLSearchParams(new URL(page.url()).hash.slice(1))].map(([k, v]) => [
      k.replace("sql.", ""),
      v,
    ]),
  );
  await page.waitForFunction(() => location.hash.includes("sql.q="));
  assert.ok(q === undefined || q.includes("nothing"));
  // Ctrl+Space asks for the list where nothing is typed yet.
  await editor(page).fill("SELECT * FROM ");
  await page.keyboard.press("Control+Space");
  assert.deepEqual((await items(page)).slice(0, 3), ["rank", "step", "track"]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await editor(page).inputValue(), "SELECT * FROM step");
  await page.close();
}

// --- a link asks it again: rows as the command has them, sorted by a click, plotted --------------------------------------

{
  const page = await open(query(SQL));
  await page.waitForSelector("#page-query .grid-row");
  assert.equal(await editor(page).inputValue(), SQL);
  assert.match(await facts(page), new RegExp(`^${expected.length} rows · `));
  const rows = await firstRows(page, 3);
  assert.deepEqual(
    rows.map((row) => [row[0], row[1], row[2].replace(/\u2009/g, "")]),
    expected.slice(0, 3).map((row) => [String(row.rank), row.name, String(row.calls)]),
  );
  const heads = await page.locator("#page-query .grid-head [role=columnheader]").allInnerTexts();
  assert.deepEqual(
    heads.map((head) => head.replace(/\s+/g, " ")),
    ["rank", "name", "calls", "total ms"],
    "the unit stands beside the name",
  );
  await page.locator("#page-query .grid-head button", { hasText: "total" }).click();
  const most = expected.reduce((a, b) => (b.total_ns > a.total_ns ? b : a));
  await page.waitForFunction(
    (name) =>
      document.querySelector("#page-query .grid-row [role=gridcell]:nth-child(2)")?.textContent ===
      name,
    most.name,
  );
  await page.getByRole("button", { name: "Bars" }).click();
  const plot = page
    .getByRole("img", { name: "calls by rank" })
    .or(page.getByRole("img", { name: / by / }));
  await plot.waitFor();
  await page.getByRole("combobox", { name: "y", exact: true }).selectOption("total_ns");
  await page.getByRole("combobox", { name: "x", exact: true }).selectOption("name");
  await page.waitForFunction(
    () => location.hash.includes("sql.plot=bars") && location.hash.includes("sql.x=name"),
  );
  await page.getByRole("img", { name: "total_ns by name" }).waitFor();
  assert.ok(
    await page.evaluate(() => {
      const canvas = document.querySelector(".query-plot canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.some((v, i) => i % 4 === 3 && v > 0);
    }),
    "something is drawn",
  );
  await shot(page, "query-bars.png");
  // The address has it all: another window shows the same.
  const again = await open(`&${new URL(page.url()).hash.slice(1)}`);
  await again.getByRole("img", { name: "total_ns by name" }).waitFor();
  assert.equal(await again.getByRole("combobox", { name: "x", exact: true }).inputValue(), "name");
  await again.getByRole("button", { name: "Points" }).click();
  await shot(again, "query-points.png");
  await again.close();
  await page.close();
}

// --- rows lead to the timeline -------------------------------------------------------------------------------------------

{
  const page = await open(
    query(
      "SELECT rank, id AS which, start_ns, dur_ns FROM slice WHERE rank = 2 ORDER BY dur_ns DESC LIMIT 3",
    ),
  );
  await page.getByRole("button", { name: "Show in the timeline" }).first().click();
  await page.waitForFunction(
    () => location.hash.includes("tab=timeline") && location.hash.includes("tl.sel="),
  );
  await page.goBack();
  await page.waitForSelector("#page-query .grid-row");
  // A moment without a slice: the window goes there.
  await editor(page).fill("SELECT rank, start_ns, end_ns FROM step WHERE rank = 1");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() =>
    document.querySelector("#page-query .grid-head")?.textContent.includes("end"),
  );
  await page.getByRole("button", { name: "Show in the timeline" }).first().click();
  await page.waitForFunction(
    () => location.hash.includes("tab=timeline") && location.hash.includes("tl.w="),
  );
  await page.close();
}

// --- what is wrong has its place; what runs can be stopped; nothing is written ----------------------------------------------

{
  const page = await open();
  await editor(page).fill("SELECT name,\n  nme FROM slice");
  await page.keyboard.press("Control+Enter");
  const wrong = page.getByRole("alert");
  await wrong.waitFor();
  assert.match(await wrong.innerText(), /^Line 2: no such column: nme$/);
  const marked = await editor(page).evaluate((n) =>
    n.value.slice(n.selectionStart, n.selectionEnd),
  );
  assert.equal(marked, "nme");
  assert.equal(await editor(page).getAttribute("aria-invalid"), "true");
  await shot(page, "query-wrong.png");
  await editor(page).fill("DELETE FROM slice");
  await page.keyboard.press("Control+Enter");
  await page.getByText(/may not be modified|only SELECT is allowed/).waitFor();
  await editor(page).fill(
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
  );
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Ask the capture in SQL").waitFor();
  await editor(page).fill("SELECT count(*) AS n FROM rank");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".query-facts");
  assert.deepEqual(await firstRows(page, 1), [["4"]]);
  await page.close();
}

// --- examples and tables ---------------------------------------------------------------------------------------------------

{
  const page = await open();
  await page.getByRole("searchbox", { name: "Find a table or column" }).fill("for_rank");
  const found = page.locator(".query-schema summary code");
  assert.deepEqual((await found.allInnerTexts())[0], "wait");
  await found.first().click();
  await page.locator(".query-schema details[open] li").nth(5).waitFor();
  await page.getByRole("button", { name: "Run its example" }).click();
  await page.waitForSelector(".query-facts, .query-wrong");
  assert.match(await editor(page).inputValue(), /^SELECT for_rank.*\nFROM wait\n/);
  await page.getByRole("combobox", { name: "Examples" }).selectOption({ index: 1 });
  await page.waitForFunction(() =>
    document.querySelector("#query-text").value.includes("FROM rank"),
  );
  await page.close();
}

// --- widths, looks, languages ------------------------------------------------------------------------------------------------

for (const [width, dark] of [
  [900, true],
  [1280, false],
  [1920, true],
]) {
  const page = await open(query(SQL), {
    viewport: { width, height: 900 },
    colorScheme: dark ? "dark" : "light",
  });
  await page.waitForSelector("#page-query .grid-row");
  const over = await page.evaluate(() => [
    document.documentElement.scrollWidth - document.documentElement.clientWidth,
    ...[
      ...document.querySelectorAll("#page-query main, .query-main, .query-schema, header.top"),
    ].map((e) => e.scrollWidth - e.clientWidth),
  ]);
  assert.deepEqual(over, [0, 0, 0, 0, 0], `${width}: nothing is wider than the window`);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("#page-query :is(button, input, select, textarea)")]
      .filter((e) => e.offsetParent !== null)
      .filter((e) => !e.getAttribute("aria-label") && !e.innerText?.trim() && !e.closest("label"))
      .map((e) => e.outerHTML.slice(0, 120)),
  );
  assert.deepEqual(nameless, []);
  await shot(page, `query-${width}.png`);
  await page.close();
}

{
  const page = await open(query("SELECT nme FROM slice"));
  await page.getByRole("button", { name: "中" }).or(page.locator(".lang")).first().click();
  await page.getByText("没有列 nme").waitFor();
  const text = await page.locator("#page-query").innerText();
  assert.match(text, /运行/);
  assert.doesNotMatch(text, /Examples|Run|Tables and functions/);
  await shot(page, "query-zh.png");
  await page.close();
}

await browser.close();
assert.deepEqual(faults, []);
console.log("the SQL page: completion, rows, plots, places, errors, widths, languages");
