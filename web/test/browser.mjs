// node browser.mjs CHROMIUM SMALL.html PAIRS.html LARGE.html: what the page does for people. Pages of
// `simulate 1f1b --pp 4 --microbatches 8`, `dualpipev 8 x 32` and `1f1b 64 x 512`. PIPESCOPE_SHOTS=DIR keeps pictures of them.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { launchUnseen } from "./page.mjs";

const [executablePath, small, pairs, large] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);
const faults = [];

async function open(file, colorScheme = "light") {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 }, colorScheme });
  page.on("pageerror", (error) => faults.push(`${file}: ${error.message}`));
  page.on(
    "console",
    (message) => message.type() === "error" && faults.push(`${file}: ${message.text()}`),
  );
  page.on(
    "request",
    (request) => request.url().startsWith("file:") || faults.push(`asked for ${request.url()}`),
  );
  await page.goto(`file://${file}`);
  await settle(page);
  return page;
}

const settle = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
const pixels = (page, layer) =>
  page.evaluate((name) => {
    const canvas = document.querySelector(`canvas.${name}`);
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let hash = 0;
    let painted = 0;
    for (let i = 0; i < data.length; i += 4) {
      hash = (hash * 31 + data[i] * 65536 + data[i + 1] * 256 + data[i + 2]) | 0;
      painted += data[i + 3] > 0 ? 1 : 0;
    }
    return { hash, painted };
  }, layer);
const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
  }
};

// --- hover, keys, theme -----------------------------------------------------------------------------------------------

{
  const page = await open(small);
  const box = await page.locator(".plot").boundingBox();
  const text = () => page.locator(".pp-tip").innerText();
  // Stage 0 runs 0F to 3F in the first 40 of 330 ms.
  await page.mouse.move(box.x + (box.width * 15) / 330, box.y + 10);
  await settle(page);
  assert.match(await text(), /^1\s+F forward/);
  assert.match(await text(), /microbatch\s+1/);
  assert.match(await text(), /10\.0 ms\s+10\u2009000\u2009000 ns/);
  assert.ok((await pixels(page, "over")).painted > 1000, "the same microbatch lights up");
  await shot(page, "hover.png");
  await page.mouse.move(box.x + (box.width * 70) / 330, box.y + 10);
  await settle(page);
  assert.match(await text(), /waiting, stall/);
  await page.mouse.move(2, 2);
  await settle(page);
  assert.ok(await page.locator(".pp-tip").isHidden());

  const whole = await pixels(page, "base");
  await page.keyboard.press("+");
  await settle(page);
  const zoomed = await pixels(page, "base");
  assert.notEqual(zoomed.hash, whole.hash, "+ zooms in");
  await page.keyboard.press("ArrowRight");
  await settle(page);
  assert.notEqual((await pixels(page, "base")).hash, zoomed.hash, "an arrow key pans");
  await page.keyboard.press("0");
  await settle(page);
  assert.equal((await pixels(page, "base")).hash, whole.hash, "0 shows everything again");
  await page.mouse.move(box.x + 300, box.y + 20);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await settle(page);
  assert.notEqual((await pixels(page, "base")).hash, whole.hash, "Ctrl + wheel zooms in");

  const ground = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await page.keyboard.press("t");
  await settle(page);
  assert.equal(await ground(), "rgb(20, 24, 29)");
  await page.keyboard.press("t");
  assert.equal(await ground(), "rgb(255, 255, 255)");
  assert.match(await page.locator(".facts").innerText(), /330 ms \u00b7 bubble 27\.3 %/);
  assert.equal(await page.locator("table.stages tbody tr").count(), 4);
  await page.close();
}
{
  const page = await open(pairs, "dark");
  assert.equal(
    await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor),
    "rgb(20, 24, 29)",
  );
  const byPhase = await pixels(page, "base");
  await page.selectOption("select[aria-label=colour]", "kind");
  await settle(page);
  assert.notEqual((await pixels(page, "base")).hash, byPhase.hash);
  await shot(page, "pairs.png");
  await page.setViewportSize({ width: 700, height: 500 });
  await settle(page);
  assert.ok(
    await page.evaluate(() => document.documentElement.scrollWidth <= 700),
    "no sideways scrolling",
  );
  await page.close();
}

// --- frames -------------------------------------------------------------------------------------------------------------

{
  const page = await open(large);
  await shot(page, "large.png");
  const times = await page.evaluate(async () => {
    const plot = document.querySelector(".over");
    const box = plot.getBoundingClientRect();
    const next = window.requestAnimationFrame.bind(window);
    const work = [];
    window.requestAnimationFrame = (draw) =>
      next((t) => {
        const before = performance.now();
        draw(t);
        work.push(performance.now() - before);
      });
    for (let i = 0; i < 200; i++) {
      const clientX = box.left + 300 + 3 * i;
      const options = {
        deltaY: i < 80 ? -60 : i < 160 ? 60 : -60,
        ctrlKey: true,
        clientX,
        clientY: box.top + 200,
        cancelable: true,
      };
      plot.dispatchEvent(new WheelEvent("wheel", options));
      await new Promise(next);
    }
    window.requestAnimationFrame = next;
    return work.sort((a, b) => a - b);
  });
  const p95 = times[Math.floor(times.length * 0.95)];
  console.log(
    `${times.length} frames of ${(statSync(large).size / 1e6).toFixed(1)} MB: median ${times[times.length >> 1].toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`,
  );
  // The aim is 16 ms on an idle machine; tests share theirs with others.
  /* Machines that test are shared: the bound is for whoever asks for it (16 on a calm machine). */
  if (process.env.PIPESCOPE_FRAME_MS) {
    assert.ok(p95 < Number(process.env.PIPESCOPE_FRAME_MS), `p95 of ${p95.toFixed(1)} ms`);
  }
  assert.ok(times.length > 150);
  await page.close();
}
await browser.close();
assert.deepEqual(faults, []);
