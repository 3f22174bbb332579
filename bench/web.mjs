// node bench/web.mjs CHROMIUM PIPESCOPE TRACE RUNS: from the start of `pipescope serve` to the first lane that is drawn. The
// browser is open before (people have theirs open), with a fresh page each time; the page marks `first-lanes` when a tile has
// been drawn. Times are those of one clock: the page's timeOrigin and Date.now() here.
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { createInterface } from "node:readline";
import { launch } from "../web/test/page.mjs";

const [executablePath, program, trace, runs] = process.argv.slice(2);
const BAR_MS = 2000;
const PATIENCE_MS = 120000;

function serve() {
  const begun = Date.now();
  const child = spawn(program, ["serve", trace, "--port", "0", "--quiet"], { stdio: ["ignore", "pipe", "inherit"] });
  const url = new Promise((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`serve ended with ${code}`)));
  });
  return { begun, child, url };
}

async function once(browser) {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const page = await context.newPage();
  const { begun, child, url } = serve();
  try {
    await page.goto(await url);
    const printed = Date.now() - begun;
    // The page tells: who asks again and again takes the time of those that read.
    const drawn = await page.evaluate((patience) => new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error("no lanes")), patience);
      new PerformanceObserver((list) => {
        const mark = list.getEntriesByName("first-lanes")[0];
        if (mark !== undefined) {
          resolve(performance.timeOrigin + mark.startTime);
        }
      }).observe({ type: "mark", buffered: true });
    }), PATIENCE_MS);
    return { page: printed, lanes: drawn - begun };
  } finally {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGINT");
    await ended;
    await context.close();
  }
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const ms = (value) => `${(value / 1000).toFixed(2)} s`;

const browser = await launch(executablePath);
try {
  const results = [];
  for (let i = 0; i < Number(runs); i++) {
    results.push(await once(browser));
  }
  const lanes = results.map((r) => r.lanes);
  const size = `${Math.round(statSync(trace).size / 1e6)} MB`;
  console.log(`first pixels of a trace of ${size}: ${ms(median(lanes))} after serve starts (median of ${runs}; ` +
    `${lanes.map(ms).join(", ")}), page there after ${ms(median(results.map((r) => r.page)))}; ` +
    `bar ${ms(BAR_MS)}: ${median(lanes) <= BAR_MS ? "kept" : "MISSED"}`);
} finally {
  await browser.close();
}
