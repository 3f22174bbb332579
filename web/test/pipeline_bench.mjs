// node pipeline_bench.mjs CHROMIUM URL [STAGES MICROBATCHES]: frames of the pipeline page while it is panned and zoomed. URL is what
// `pipescope serve` prints, for a capture without a pipeline: then the page draws what it simulates (512 x 2048 are 2 M ops).
// PIPESCOPE_FRAME_MS=16 PIPESCOPE_HEAP_MB=300 make bounds of it. PIPESCOPE_SHOTS=DIR keeps a picture.
import assert from "node:assert/strict";
import { join } from "node:path";
import { launch } from "./page.mjs";

const [executablePath, url, stages = "512", microbatches = "2048"] = process.argv.slice(2);
const browser = await launch(executablePath, "--js-flags=--expose-gc");
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
const faults = [];
page.on("pageerror", (error) => faults.push(error.message));
const replies = [];
page.on("requestfinished", async (request) => {
  if (request.url().endsWith("/api/simulate")) {
    const { responseEnd, requestStart } = request.timing();
    replies.push({
      ms: responseEnd - requestStart,
      bytes: (await request.sizes()).responseBodySize,
    });
  }
});
const began = Date.now();
await page.goto(
  `${url}&tab=pipeline&pp.under=form&pp.sim-schedule=1f1b&pp.sim-stages=${stages}&pp.sim-microbatches=${microbatches}`,
);
await page.waitForFunction(
  (n) => document.querySelectorAll(".names div:not(.heading)").length === n,
  Number(stages),
  { timeout: 120_000 },
);
await page.evaluate(
  () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
);
const shownMs = Date.now() - began;
const decodeMs = await page.evaluate(() =>
  Math.max(...performance.getEntriesByName("chart-decode", "measure").map((m) => m.duration)),
);
const last = replies[replies.length - 1];
console.log(
  `pipeline ${stages} x ${2 * microbatches} ops: reply ${(last.bytes / 1e6).toFixed(1)} MB in ${last.ms.toFixed(0)} ms, decode ${decodeMs.toFixed(0)} ms, shown after ${shownMs} ms`,
);
if (process.env.PIPESCOPE_SHOTS) {
  await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, "pipeline-bench.png") });
}

/** The work of frames while something happens before each. */
const frames = (what) =>
  page.evaluate(async (what) => {
    const over = document.querySelector(".chart .over");
    const scroller = document.querySelector(".pl-scroll");
    const box = over.getBoundingClientRect();
    const at = scroller.getBoundingClientRect();
    const next = window.requestAnimationFrame.bind(window);
    const work = [];
    window.requestAnimationFrame = (draw) =>
      next((t) => {
        const before = performance.now();
        draw(t);
        work.push(performance.now() - before);
      });
    const wheel = (i, options) =>
      over.dispatchEvent(
        new WheelEvent("wheel", {
          clientX: box.left + 200 + 2 * i,
          clientY: at.top + 100,
          cancelable: true,
          ...options,
        }),
      );
    for (let i = 0; i < 240; i++) {
      if (what === "zoom") {
        wheel(i, { deltaY: i % 120 < 60 ? -80 : 80, ctrlKey: true });
      } else if (what === "pan") {
        wheel(i, { deltaY: i % 120 < 60 ? 40 : -40, shiftKey: true });
      } else if (what === "scroll") {
        scroller.scrollTop = i * 12;
      } else {
        over.dispatchEvent(
          new PointerEvent("pointermove", {
            clientX: box.left + 100 + 4 * i,
            clientY: at.top + 60 + (i % 40) * 8,
            pointerId: 1,
          }),
        );
      }
      await new Promise(next);
    }
    window.requestAnimationFrame = next;
    return work.sort((a, b) => a - b);
  }, what);

let worst = 0;
for (const what of ["zoom", "pan", "scroll", "hover"]) {
  if (what === "pan") {
    await page.keyboard.press("0");
    await page.keyboard.press("+");
    await page.keyboard.press("+");
  }
  if (what === "scroll") {
    await page.keyboard.press("0"); // all ops of a row in sight
  }
  const times = await frames(what);
  const p95 = times[Math.floor(times.length * 0.95)];
  worst = Math.max(worst, p95);
  console.log(
    `  ${what}: ${times.length} frames, median ${times[times.length >> 1].toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, longest ${times[times.length - 1].toFixed(1)} ms`,
  );
  assert.ok(times.length > 100, `${what}: frames were drawn`);
}
const cdp = await page.context().newCDPSession(page);
await cdp.send("HeapProfiler.collectGarbage");
const heap = await cdp.send("Runtime.getHeapUsage");
const heapMb = (heap.usedSize + (heap.backingStorageSize ?? 0)) / 1e6;
console.log(
  `  heap ${(heap.usedSize / 1e6).toFixed(0)} MB and ${((heap.backingStorageSize ?? 0) / 1e6).toFixed(0)} MB of columns`,
);
await browser.close();
assert.deepEqual(faults, []);
if (process.env.PIPESCOPE_FRAME_MS) {
  assert.ok(worst <= Number(process.env.PIPESCOPE_FRAME_MS), `p95 of ${worst.toFixed(1)} ms`);
}
if (process.env.PIPESCOPE_HEAP_MB) {
  assert.ok(heapMb <= Number(process.env.PIPESCOPE_HEAP_MB), `${heapMb.toFixed(0)} MB`);
}
