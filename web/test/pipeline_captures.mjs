// node pipeline_captures.mjs CHROMIUM URL: the pipeline page on any capture that has a pipeline: what it shows is what the server says of
// it, and each thing that can be done with it works. URL is what `pipescope serve` prints.
import assert from "node:assert/strict";
import { launchUnseen } from "./page.mjs";
import { Stage } from "./parity_page.mjs";

const [executablePath, url] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);
const v = await Stage.open(browser, url, { width: 1280, height: 900 });
const { page } = v;
const chart = await v.api("chart", { cluster: 0 });
const table = (name) => chart.tables.find((t) => t.name === name);
const bubble = table("PipelineBubble");
const at = (name) => bubble.columns.findIndex((c) => c[0] === name);
const facts = () => page.locator(".pl-what p").innerText();
const numberIn = (text, unit) => Number(new RegExp(`([\\d.]+) ${unit}`).exec(text)?.[1]);
const picture = (layer) =>
  page.evaluate((name) => {
    const canvas = document.querySelector(`.chart canvas.${name}`);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    for (let i = 0; i < data.length; i += 4) {
      sum = (sum * 31 + data[i] * 65536 + data[i + 1] * 256 + data[i + 2] + data[i + 3]) | 0;
    }
    return sum;
  }, layer);
const changed = (layer, before, what) =>
  v.until(
    () => picture(layer),
    (now) => now !== before,
    what,
  );
const tip = () => page.locator(".pp-tip").first();
/** Moves over a stage from left to right until the tip is as wanted; returns where that is, and what the tip says. */
async function hover(row, wanted) {
  const plot = await page.locator(".chart .plot").first().boundingBox();
  const name = await page.locator(".chart .names div:not(.heading)").nth(row).boundingBox();
  for (let share = 0.004; share < 1; share += 0.008) {
    await page.mouse.move(plot.x + plot.width * share, name.y + Math.min(12, name.height / 3));
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    const text = (await tip().isVisible()) ? await tip().innerText() : "";
    if (wanted.test(text)) {
      return {
        text,
        x: plot.x + plot.width * share,
        y: name.y + Math.min(12, name.height / 3),
        share,
      };
    }
  }
  return assert.fail(`no ${wanted} in row ${row}`);
}
const open = async () => {
  await page.goto(`${url}&tab=pipeline`);
  await page.waitForSelector(".chart .names div");
  await v.until(facts, (text) => /bubble/.test(text), "what is shown");
};

const ITEMS = {
  "a row for each stage, with its figures": async () => {
    await open();
    const stages = new Set(bubble.rows.map((r) => r[at("stage")]));
    assert.ok(at("stage") >= 0 && stages.size > 1);
    assert.equal(await page.locator(".chart .names div:not(.heading)").count(), stages.size);
    assert.ok(numberIn(await facts(), "ms") > 0 && numberIn(await facts(), "%") > 0);
    assert.match(await page.locator(".chart .shares").first().innerText(), /\d/);
  },
  "a legend": async () =>
    assert.match(await page.locator(".pp-legend").first().innerText(), /F forward[\s\S]*waiting/),
  "a step picker": async () => {
    const picker = page.locator("select[aria-label=step]");
    const options = await picker.locator("option").evaluateAll((all) => all.map((o) => o.value));
    const steps = options.filter((o) => /^\d+$/.test(o));
    assert.ok(steps.length > 1, `steps ${options}`);
    for (const step of steps.slice(0, 2)) {
      await picker.selectOption(step);
      await v.until(facts, (text) => new RegExp(`step ${step}\\b`).test(text), `step ${step}`);
    }
    await picker.selectOption("all");
    await v.until(facts, (text) => new RegExp(`all ${steps.length} steps`).test(text), "all steps");
    await picker.selectOption(steps[0]);
    await v.until(facts, (text) => new RegExp(`step ${steps[0]}\\b`).test(text), "back");
  },
  "times count from the start of the step": async () => {
    const { text } = await hover(1, /microbatch/);
    const start =
      /start\S*\s+([\d.]+) (ms|\u00b5s|s)\b/i.exec(text) ??
      /\bat\s+([\d.]+) (ms|\u00b5s|s)\b/i.exec(text);
    assert.ok(start !== null, text);
    assert.ok(
      Number(start[1]) * { s: 1e3, ms: 1, "\u00b5s": 1e-3 }[start[2]] <
        numberIn(await facts(), "ms"),
      text,
    );
  },
  "hovering lights the microbatch in every stage": async () => {
    await page.mouse.move(2, 2);
    await v.settle();
    const still = await picture("over");
    await hover(1, /microbatch\s+1/);
    await changed("over", still, "lit");
  },
  "a gap says its cause": async () => {
    await hover(0, /waiting/);
    await page.mouse.move(2, 2);
  },
  arrows: async () => {
    await v.settle();
    const plain = await picture("over");
    await page.keyboard.press("f");
    await changed("over", plain, "arrows");
    await page.keyboard.press("f");
    await v.until(
      () => picture("over"),
      (now) => now === plain,
      "without them",
    );
  },
  "measured against theory": async () => {
    const before = await picture("base");
    await page.click(".pl-bottom [role=tab]:has-text('Other schedules')");
    const below = page.locator("main.pipeline-page header select").last();
    const names = await below
      .locator("option")
      .evaluateAll((all) =>
        all.map((o) => o.value.split(":")).filter(([kind]) => kind === "theory"),
      );
    const row = page.locator(".pl-table .grid-row").first(); // that with the largest gain
    const text = await row.innerText();
    const name = names
      .map(([, schedule]) => schedule)
      .filter((schedule) => text.includes(schedule))
      .sort((a, b) => b.length - a.length)[0];
    await row.click();
    await v.until(
      facts,
      (said) => new RegExp(`below: ${name}, [\\d.]+ m?s, bubble`).test(said),
      "that schedule with the measured durations below",
    );
    await changed("base", before, "drawn");
    const replayed = await picture("base");
    await below.selectOption(`theory:${name}`);
    await v.until(facts, (said) => said.includes(`theory of ${name}`), "its theory below");
    await changed("base", replayed, "drawn");
  },
  "simulated again": async () => {
    await open();
    await page.click(".pl-bottom [role=tab]:has-text('Simulate')");
    const out = page.locator(".sim-out dd").first();
    const full = numberIn(
      await v.until(
        () => out.innerText(),
        (text) => / ms/.test(text),
        "the step as measured",
      ),
      "ms",
    );
    const factors = page.locator(".sim-factor input[type=number]");
    for (let s = 0; s < (await factors.count()); s++) {
      await factors.nth(s).fill("0.5");
      await page.keyboard.press("Tab");
    }
    await v.until(
      () => out.innerText(),
      (text) => numberIn(text, "ms") < 0.65 * full,
      `much less than ${full} ms`,
    );
  },
  "to the timeline and back": async () => {
    await open();
    const step = numberIn(await facts(), "ms") * 1e6;
    const { x, y, share } = await hover(2, /microbatch\s+0/);
    if (!v.ranks.some((r) => r.slices > 0)) {
      console.log("# no timeline in these files");
      return;
    }
    await page.mouse.click(x, y);
    await page.waitForFunction(() => location.hash.includes("tab=timeline"));
    const { w } = await v.says((s) => s.w !== undefined, "the window");
    const span = Number(w.split("+")[2]);
    assert.ok(span < step, `close to the block: ${span} ns`);
    // A click in the middle of what is shown leads back to that time.
    const plot = await page.locator(".tl-over").boundingBox();
    const header = await page
      .locator(".tl-row.tl-rank")
      .evaluateAll((all) =>
        all.map((r) => [r.getAttribute("data-id"), r.getBoundingClientRect().top]),
      );
    const rank = v.ranks.filter((r) => r.state === "ready")[2] ?? v.ranks[2];
    const top = header.find(([id]) => id === rank.key)?.[1];
    assert.ok(top !== undefined, "the rank of the stage is in sight");
    await page.mouse.click(plot.x + plot.width / 2, top + 8, { button: "right" });
    await v.choose("Show in the pipeline chart");
    await page.waitForFunction(
      () => location.hash.includes("tab=pipeline") && location.hash.includes("pp.window="),
    );
    const [from, to] = /pp\.window=(\d+)(?:,|%2C)(\d+)/.exec(page.url()).slice(1).map(Number);
    assert.ok(
      from <= share * step * 1.05 && to >= share * step * 0.9,
      `back at ${share * step}: ${from} to ${to}`,
    );
  },
};

let failed = 0;
const only = process.env.PIPESCOPE_ITEM;
for (const [i, [name, run]] of Object.entries(ITEMS).entries()) {
  if (only !== undefined && !name.includes(only)) {
    continue;
  }
  try {
    await run();
    assert.deepEqual(v.faults, [], "nothing went wrong in the page");
    console.log(`ok ${i + 1} - ${name}`);
  } catch (error) {
    failed++;
    await v.shot(`pipeline-captures-${i + 1}`);
    console.log(
      `not ok ${i + 1} - ${name}\n${String(error.stack).split("\n").slice(0, 7).join("\n")}\n${v.faults.join("\n")}`,
    );
    v.faults.length = 0;
  }
}
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
