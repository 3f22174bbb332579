// node pictures.mjs CHROMIUM NAME ADDRESS FILE.png: one picture of docs/pictures. ADDRESS is that of a server or of a page of the chart;
// docs/pictures/make.sh says of what.
import { launch } from "./page.mjs";

const [executablePath, name, address, file] = process.argv.slice(2);

/** By name: the window, what is asked of the address, and what is done before the picture is taken. */
const PICTURES = {
  "page-hover": {
    height: 900,
    act: async (page) => {
      await page.locator("canvas").first().waitFor();
      await page.waitForTimeout(500);
      const box = await page.locator("canvas").first().boundingBox();
      await page.mouse.move(box.x + box.width * 0.42, box.y + 14);
    },
  },
  "page-64-stages-dark": { height: 900, dark: true, act: (page) => page.waitForTimeout(1500) },
  "viewer-whatif": {
    height: 900,
    hash: "tab=whatif&wi.without=stage%3D2",
    act: (page) => page.waitForSelector("#page-whatif .facts"),
  },
  "viewer-query": {
    height: 800,
    hash: `tab=query&sql.q=${encodeURIComponent(`SELECT rank, name, count(*) AS calls, sum(dur_ns) AS total_ns
FROM slice
WHERE rank IN (1, 2)
GROUP BY rank, name
ORDER BY rank, name`)}&sql.plot=bars&sql.x=name&sql.y=total_ns`,
    act: async (page) => {
      await page.locator("#page-query .query-plot canvas").first().waitFor();
      await page.locator("#page-query .grid-head button", { hasText: "total" }).first().click();
    },
  },
  "viewer-calls": {
    height: 900,
    hash: "tab=calls&ct.time=device",
    act: (page) => page.locator("#page-calls canvas").first().waitFor(),
  },
  "viewer-timeline": {
    act: async (page) => {
      await page.waitForFunction(() => performance.getEntriesByName("first-lanes").length > 0);
      await page.locator(".search input").fill("hcom_receive__875_4_1");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() =>
        /\//.test(document.querySelector(".search-count")?.textContent),
      );
      await page.evaluate(() => document.activeElement?.blur());
      await page.keyboard.press("m");
      await page.keyboard.press("Shift+Z");
      await page.keyboard.press("m");
      await page.locator(".bottom-tabs").getByText("System View").click();
      const plot = await page.locator(".tl-over").boundingBox();
      await page.mouse.move(plot.x + plot.width / 2, plot.y + 60);
      await page.keyboard.press("s");
      await page.mouse.move(plot.x + plot.width / 2, plot.y - 60);
      await page.evaluate(() => document.activeElement?.blur());
    },
  },
  "viewer-pipeline": {
    hash: "tab=pipeline&pp.under=replay",
    act: async (page) => {
      const chart = page.locator("#page-pipeline canvas").first();
      await chart.waitFor();
      await page.waitForTimeout(1500);
      await page.mouse.move(401, 163); // microbatch 4 of the first stage
    },
  },
  "viewer-summary": {
    dark: true,
    hash: "tab=summary",
    act: async (page) => {
      const bars = page.locator("#page-summary .card", { hasText: "What a step is made of" });
      await bars.locator("canvas").first().waitFor();
      await bars.evaluate((card) => card.scrollIntoView({ block: "start" }));
    },
  },
  "viewer-operator": {
    hash: "tab=operator",
    act: async (page) => {
      const beside = page.locator("#page-operator .table", { hasText: "beside the baseline" });
      await page.locator("#page-operator select").first().selectOption({ label: "rank 4 in new" });
      await beside.first().locator(".grid-row").first().waitFor();
    },
  },
};

const wanted = PICTURES[name];
if (wanted === undefined) {
  console.error(`no picture is called ${name}: ${Object.keys(PICTURES).join(", ")}`);
  process.exit(2);
}
const browser = await launch(executablePath);
const page = await browser.newPage({
  viewport: { width: 1280, height: wanted.height ?? 720 },
  colorScheme: wanted.dark === true ? "dark" : "light",
  locale: "en-GB",
  timezoneId: "UTC",
});
page.setDefaultTimeout(60_000);
await page.goto(wanted.hash === undefined ? address : `${address}&${wanted.hash}`);
await wanted.act(page);
await page.waitForTimeout(800);
await page.screenshot({ path: file });
await browser.close();
