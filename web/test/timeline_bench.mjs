// node timeline_bench.mjs CHROMIUM [URL]: how long frames of the timeline take while panning and zooming, and what the page
// holds in memory. URL is that of a server (`pipescope serve`, with its token); without one a synthetic recording is served
// that has more than 100,000 slices on screen. Prints one line of JSON; PIPESCOPE_FRAME_MS=16 and PIPESCOPE_HEAP_MB=300 make
// it fail beyond these.
import { launch } from "./page.mjs";
import { serveSynthetic } from "./timeline_server.mjs";

const [executablePath, given] = process.argv.slice(2);
const synthetic =
  given === undefined ? await serveSynthetic({ nLanes: 400, rows: 9, spanNs: 8e5 }) : null;
const browser = await launch(executablePath, "--enable-precise-memory-info");
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
const faults = [];
page.on("pageerror", (error) => faults.push(error.message));
const began = Date.now();
await page.goto(given ?? synthetic.url);
await page.waitForFunction(() => performance.getEntriesByName("first-lanes").length > 0, null, {
  timeout: 60_000,
});
const firstLanesMs = await page.evaluate(
  () => performance.getEntriesByName("first-lanes")[0].startTime,
);
const openedMs = Date.now() - began;
await page.keyboard.press("q"); // the lower panel makes room
await page.waitForTimeout(1000);

/** Frames of the page while the wheel turns once a frame: how long drawing took, and from one frame to the next. */
const frames = (name, steps, wheel) =>
  page.evaluate(
    async ({ name, steps, wheel }) => {
      const plot = document.querySelector(".tl-over");
      const scroller = document.querySelector(".tl-scroll");
      const at = plot.getBoundingClientRect();
      window.pipescopeFrames = [];
      const between = [];
      let drawn = 0;
      let last = 0;
      for (let i = 0; i < steps; i++) {
        const way = i % 40 < 20 ? 1 : -1;
        const options = {
          bubbles: true,
          cancelable: true,
          clientX: at.left + at.width * 0.4,
          clientY: at.top + at.height * 0.5,
        };
        if (wheel === "scroll") {
          scroller.scrollTop += way * 60;
        } else {
          plot.dispatchEvent(
            new WheelEvent("wheel", {
              ...options,
              ...(wheel === "pan" ? { deltaX: way * 40 } : { deltaY: way * 30, ctrlKey: true }),
            }),
          );
        }
        const now = await new Promise((done) => requestAnimationFrame(done));
        if (last > 0) {
          between.push(now - last);
        }
        last = now;
        drawn = Math.max(drawn, window.pipescopeDrawn ?? 0);
      }
      const quantile = (list, share) =>
        Number(
          (
            list.sort((a, b) => a - b)[
              Math.min(list.length - 1, Math.floor(list.length * share))
            ] ?? 0
          ).toFixed(2),
        );
      const times = window.pipescopeFrames;
      return {
        name,
        frames: times.length,
        slices: drawn,
        median_ms: quantile(times, 0.5),
        p95_ms: quantile(times, 0.95),
        max_ms: quantile(times, 1),
        between_p95_ms: quantile(between, 0.95),
      };
    },
    { name, steps, wheel },
  );

const box = await page.locator(".tl-over").boundingBox();
await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
const results = [
  await frames("pan", 200, "pan"),
  await frames("zoom", 200, "zoom"),
  await frames("scroll", 100, "scroll"),
];
// Deep in and far across: everything that can be kept is asked for.
for (let i = 0; i < 60; i++) {
  await page.keyboard.press(i % 12 < 8 ? "w" : "s");
  await page.keyboard.press("d");
  await page.waitForTimeout(30);
}
await page.waitForTimeout(500);
const cdp = await page.context().newCDPSession(page);
await cdp.send("HeapProfiler.collectGarbage");
await cdp.send("Performance.enable");
const metrics = Object.fromEntries(
  (await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]),
);
const buffers = await page.evaluate(
  async () => (performance.memory?.usedJSHeapSize ?? 0) / 2 ** 20,
);
const heapMb = Number((metrics.JSHeapUsedSize / 2 ** 20).toFixed(1));
console.log(
  JSON.stringify({
    what: given === undefined ? "synthetic" : "served",
    opened_ms: openedMs,
    first_lanes_ms: Math.round(firstLanesMs),
    frames: results,
    heap_mb: heapMb,
    memory_mb: Number(buffers.toFixed(1)),
    faults,
  }),
);
await browser.close();
synthetic?.close();
const p95 = Math.max(...results.map((r) => r.p95_ms));
if (
  (process.env.PIPESCOPE_FRAME_MS && p95 > Number(process.env.PIPESCOPE_FRAME_MS)) ||
  (process.env.PIPESCOPE_HEAP_MB && heapMb > Number(process.env.PIPESCOPE_HEAP_MB)) ||
  faults.length > 0
) {
  process.exitCode = 1;
}
