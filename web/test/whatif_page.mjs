// node whatif_page.mjs CHROMIUM URL ALONE CHUNKS WHATIF.json PLAN.json: the What-if page in a real browser. URL and ALONE are what `pipescope
// serve` prints for `simulate 1f1b --pp 4 --microbatches 8 --dp 2 --steps 3 --slow-stage 2:1.5 --profile` and for a capture
// without a pipeline, CHUNKS of one with two chunks a stage; the files are what `pipescope whatif --without stage=2` and `plan --layers 8,8,8,8` say of the first.
// PIPESCOPE_SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launchUnseen } from "./page.mjs";

const [executablePath, url, alone, chunks, whatifFile, planFile] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);
const faults = [];
const said = JSON.parse(readFileSync(whatifFile, "utf8"));
const planned = JSON.parse(readFileSync(planFile, "utf8"));
const ms = (ns) => `${Number((ns / 1e6).toPrecision(3))} ms`;

async function open(address, hash = "", options = {}) {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    acceptDownloads: true,
    locale: "en",
    ...options,
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.setDefaultTimeout(90_000);
  await page.goto(`${address}&tab=whatif${hash}`);
  return page;
}
const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name), fullPage: true });
  }
};
const section = (page, title) =>
  page.locator("section.card", { has: page.getByRole("heading", { name: title, exact: true }) });

/** Words of the field stand as they are; four of them in a row are an English sentence. */
async function chinese(locator, textOf = (e) => e.innerText) {
  const texts = await locator.evaluateAll(
    (all, get) => all.map(new Function("e", `return (${get})(e)`)),
    String(textOf),
  );
  assert.ok(texts.length > 0 && texts.some((text) => /[\u4e00-\u9fff]/.test(text)));
  assert.doesNotMatch(texts.join("\n"), /(?:\b[a-z]{2,}\b[ ,]+){4,}/);
}

// --- what the command says, the page says -----------------------------------------------------------------------------

{
  const page = await open(url);
  await page.waitForSelector("#page-whatif .facts");
  const facts = await page.locator("#page-whatif .facts").innerText();
  assert.doesNotMatch(facts, /-\d/, "numbers below 0 have the page's minus");
  assert.match(facts, /8 = 4 stages × 2 replicas/);
  assert.ok(facts.includes(said.slowdown.toFixed(3)), `${facts}: slowdown ${said.slowdown}`);
  assert.ok(facts.includes(`${said.waste_percent.toFixed(1)} %`));
  await page.getByText(/slow ones included.* may be shorter than the ideal/).waitFor();
  const causes = section(page, "Causes").locator("li");
  assert.equal(await causes.count(), said.causes.length);
  const first = await causes.first().innerText();
  assert.match(first, /^Stage split holds/);
  assert.match(first, /if stage 2 computed as fast as usual/);
  assert.match(first, /Try: move layers/);
  await shot(page, "whatif.png");

  // A click on a worker asks for the step without it; another one takes it back.
  const map = section(page, "Slowdown of each worker").locator("canvas").first();
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  const at = { x: 36 + 10 + 16, y: 40 + 16 };
  await map.click({ position: at });
  await page.waitForFunction(() => location.hash.includes("wi.without=worker"));
  assert.ok(box !== null && box.width > 100);
  await section(page, "What if …").getByText("A step takes").waitFor();
  const after = await map.boundingBox();
  assert.equal(after.y, box.y, "the answer moves nothing that is below it");
  await map.click({ position: at });
  await page.waitForFunction(() => !location.hash.includes("wi.without"));
  await page.close();
}

// --- a question and a plan from the address ----------------------------------------------------------------------------

{
  const page = await open(url, "&wi.without=stage%3D2&wi.layers=8,8,8,8");
  const answer = section(page, "What if …").locator(".verdict", { hasText: "A step takes" });
  await answer.waitFor();
  const { step_ns: step, gain_ns: gain } = said.answer[0];
  const text = (await answer.innerText()).replace(/\s/g, " ");
  assert.ok(
    text.includes(`A step takes ${ms(step)}: ${ms(gain)} less`),
    `${text}: ${step} ${gain}`,
  );
  const plan = section(page, "A better split of layers");
  await plan.locator("code").first().waitFor();
  const row = planned.plan[0];
  const lines = await plan.locator(".paste").first().locator("code").allInnerTexts();
  assert.deepEqual(lines, [
    `--pipeline-model-parallel-layout "${row.pipeline_model_parallel_layout}"`,
    `--num-layer-list ${row.num_layer_list}`,
    row.split_points,
  ]);
  await shot(page, "whatif-plan.png");

  // The same under every schedule that can run the job: as many plans as the command has, the first one with its lines, then the one that is chosen.
  const plans = plan.locator("[data-table=plan_list] .grid-row");
  assert.equal(await plans.count(), planned.schedules.length);
  const own = plan.locator(".paste").last().locator("code");
  const ofFirst = planned.schedule_lines.map((row) => row.line);
  assert.deepEqual(await own.allInnerTexts(), ofFirst);
  await plans.nth(3).click();
  await plan.getByText("Stages of plan 3").waitFor();
  assert.notDeepEqual(await own.allInnerTexts(), ofFirst);
  await page.waitForFunction(() => location.hash.includes("wi.row=3"));

  // A question that the job does not know stays a question: the sentence stands where the answer would.
  const without = page.getByLabel("these were as fast as usual");
  await without.fill("stage=9");
  await without.press("Enter");
  await section(page, "What if …").getByText("no such worker").waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.waitForFunction(() => !location.hash.includes("wi.without"));

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save as timeline" }).click(),
  ]);
  assert.equal(download.suggestedFilename(), "whatif.pftrace");
  assert.ok(readFileSync(await download.path()).length > 1000);

  // The plan as a chart below the measured one: six layers instead of eight where the slow stage is.
  await page.getByRole("button", { name: "Show its step below the measured one" }).click();
  await page.waitForFunction(() => location.hash.includes("pp.under=form"));
  await page.locator(".pl-what p").getByText("below: ").waitFor();
  const factors = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("pp.sim-factors");
  const stage = planned.stages[2];
  const factor = stage["microbatch planned_ns"] / stage["microbatch now_ns"];
  assert.ok(factors.split(",").includes(`2:${Number(factor.toFixed(4))}`), factors);
  await shot(page, "whatif-below.png");
  await page.close();
}

// --- a schedule of several chunks: its lines are those of its plan among all ---------------------------------------------

{
  const page = await open(chunks, "&wi.layers=16");
  const plan = section(page, "A better split of layers");
  const own = plan.getByRole("button", { name: /^Plan \d+ below has its lines/ });
  const number = /\d+/.exec(await own.innerText())[0];
  await own.click();
  await plan.getByText(`Stages of plan ${number}`).waitFor();
  assert.equal(await plan.getByText("No lines to paste: how layers lie").count(), 0);
  await page.close();
}

// --- widths, languages, nothing to ask ----------------------------------------------------------------------------------

for (const [width, dark] of [
  [900, true],
  [1280, false],
  [1920, true],
]) {
  const page = await open(url, "&wi.layers=32", {
    viewport: { width, height: 900 },
    colorScheme: dark ? "dark" : "light",
  });
  await section(page, "A better split of layers").locator("code").first().waitFor();
  const over = await page.evaluate(() => [
    document.documentElement.scrollWidth - document.documentElement.clientWidth,
    ...[...document.querySelectorAll("#page-whatif main, header.top")].map(
      (e) => e.scrollWidth - e.clientWidth,
    ),
  ]);
  assert.deepEqual(over, [0, 0, 0], `${width}: nothing is wider than the window`);
  await shot(page, `whatif-${width}.png`);
  await page.close();
}

{
  const page = await open(url);
  await page.waitForSelector("#page-whatif .facts");
  await page.getByRole("button", { name: "中" }).or(page.locator(".lang")).first().click();
  await page.getByText("变慢倍数").first().waitFor();
  const text = await page.locator("#page-whatif").innerText();
  assert.match(text, /若阶段 2 计算速度正常/);
  assert.doesNotMatch(text, /Try:|holds/);
  await chinese(page.locator("#page-whatif :is(.findings, .verdict)"));

  // The report, too: its verdict, findings, what to try, and where it was seen.
  await page.getByRole("tab", { name: "概览" }).click();
  await page.locator("#page-summary .finding .places").first().waitFor();
  await chinese(page.locator("#page-summary :is(.findings, .verdict)"));
  await chinese(page.locator("#page-summary .finding [title]"), (e) => e.title);
  await page.close();
}

{
  const page = await open(alone);
  await page.getByText("No steps to ask").waitFor();
  await page.close();
}

await browser.close();
assert.deepEqual(faults, []);
console.log("the What-if page: figures, questions, plans, widths, languages");
