// node bench/web.mjs CHROMIUM PIPESCOPE TRACE RUNS: from the start of `pipescope serve` to the first lanes that are drawn, of what is
// read so far, and to those of the whole rank. The browser is open before (people have theirs open), with a fresh page each time; the
// page marks `first-outline` and `first-lanes`. Times are those of one clock: the page's timeOrigin and Date.now() here.
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { createInterface } from "node:readline";
import { launch } from "../web/test/page.mjs";

const [executablePath, program, trace, runs] = process.argv.slice(2);
const FIRST_BAR_MS = 1500;
const ALL_BAR_MS = 3000;
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
    const [first, all] = await page.evaluate((patience) => new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error("no lanes")), patience);
      const at = (list, name) => list.getEntriesByName(name)[0]?.startTime;
      new PerformanceObserver((list) => {
        const whole = at(list, "first-lanes");
        if (whole !== undefined) {
          resolve([at(performance, "first-outline"), whole].map((ms) => performance.timeOrigin + ms));
        }
      }).observe({ type: "mark", buffered: true });
    }), PATIENCE_MS);
    return { page: printed, first: first - begun, all: all - begun };
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
  const size = `${Math.round(statSync(trace).size / 1e6)} MB`;
  const told = (what, of, bar) => {
    const times = results.map((r) => r[of]);
    return `${what} ${ms(median(times))} (${times.map(ms).join(", ")}; bar ${ms(bar)}: ${median(times) <= bar ? "kept" : "MISSED"})`;
  };
  console.log(`a trace of ${size}, after serve starts, medians of ${runs}: page ${ms(median(results.map((r) => r.page)))}, ` +
    `${told("first lanes", "first", FIRST_BAR_MS)}, ${told("all of them", "all", ALL_BAR_MS)}`);
} finally {
  await browser.close();
}
