// A page of the viewer in a real browser, and the server behind it: what tests of the whole do with both.
import { join } from "node:path";
import { chromium } from "playwright-core";
import { atRest, watchRest } from "./rest.mjs";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const PATIENCE_MS = 40_000;

/** Waits until `isSo()`; the limit is for what hangs, not for a busy machine. `detail()` is said with `what` at the end. */
export async function until(isSo, what, detail = () => "") {
  for (const begin = Date.now(); !(await isSo());) {
    if (Date.now() - begin > PATIENCE_MS) {
      throw new Error(`${what} ${await detail()}`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Chromium as all tests and measurements have it; what one of them needs besides. */
export const launch = (executablePath, ...more) =>
  chromium.launch({ executablePath, args: [...FLAGS, ...more] });

/**
 * The same for tests that ask the document and its canvases: they may wait until a page is at rest, and as nobody looks at the screen, pages are not
 * drawn on it unless PIPESCOPE_SHOTS wants pictures.
 */
export async function launchUnseen(executablePath) {
  const browser = await launch(executablePath);
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    await watchRest(context);
    if (!process.env.PIPESCOPE_SHOTS) {
      await context.addInitScript(() => {
        const unseen = new CSSStyleSheet();
        unseen.replaceSync("html, dialog { opacity: 0 !important }");
        document.adoptedStyleSheets.push(unseen);
      });
    }
    return context;
  };
  return browser;
}

/** A slice's name as the page shows it: of a mark that is a dict, what it says. */
export const shownName = (name) => /^\{'name': '([^']*)'\}$/.exec(name)?.[1] ?? name;

/** The routes of the server that an address ("http://127.0.0.1:8686/#token=...") names; with a body it is sent to them. */
export function apiOf(url) {
  const at = new URL(url);
  const token = new URLSearchParams(at.hash.slice(1)).get("token");
  return async (path, params = {}, body = undefined) => {
    const query = new URLSearchParams(params).toString();
    const reply = await fetch(`${at.origin}/api/${path}${query === "" ? "" : `?${query}`}`, {
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    if (!reply.ok) {
      throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    }
    return reply.json();
  };
}

export class Viewer {
  faults = [];

  constructor(page, url) {
    this.page = page;
    this.url = url;
    this.api = apiOf(url);
    page.on("pageerror", (error) => this.faults.push(error.message));
    page.on("console", (message) => message.type() === "error" && this.faults.push(message.text()));
  }

  static async open(browser, url, { width = 1280, height = 1000, hash = "" } = {}) {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: "light",
      locale: "en-GB",
      acceptDownloads: true,
    });
    const viewer = new this(await context.newPage(), url);
    await viewer.prepare();
    await viewer.goto(hash);
    return viewer;
  }

  /** What is to be so before the first page. */
  async prepare() {}

  async goto(hash = "") {
    await this.page.goto(this.url + hash);
    await this.ready();
    this.ranks = (await this.api("ranks")).ranks;
  }

  /** All ranks that are being read are there, and lanes are drawn. */
  async ready() {
    for (let i = 0; i < 300; i++) {
      const { ranks } = await this.api("ranks");
      if (
        ranks.every((r) => r.state === "ready" || r.state === "failed" || r.state === "waiting")
      ) {
        break;
      }
      await this.page.waitForTimeout(50);
    }
    await this.page.waitForFunction(
      () => performance.getEntriesByName("first-lanes").length > 0,
      null,
      { timeout: 60000 },
    );
    await this.settle();
  }

  settle() {
    return atRest(this.page);
  }

  async press(...keys) {
    for (const key of keys) {
      await this.page.keyboard.press(key);
    }
    await this.settle();
  }

  /** What the address says now of one page ("tl", "pp"), ranks by their keys. */
  async said(prefix = "tl") {
    const hash = await this.page.evaluate(() => location.hash.slice(1));
    const named = (this.ranks ?? []).reduce((text, r) => text.replaceAll(r.id, r.key), hash);
    return Object.fromEntries(
      [...new URLSearchParams(named)]
        .filter(([k]) => k.startsWith(`${prefix}.`))
        .map(([k, v]) => [k.slice(prefix.length + 1), v]),
    );
  }

  /** The same once the address has caught up. */
  async state(prefix = "tl") {
    await this.settle();
    return this.said(prefix);
  }

  tab(name) {
    return this.page.locator("nav").getByText(name, { exact: true }).first().click();
  }

  /** A tab of the panel below the timeline. */
  async below(name) {
    await this.page.locator(".bottom-tabs").getByText(name, { exact: false }).first().click();
    await this.settle();
  }

  /** Types into the search field and goes to the first match. */
  async find(text) {
    // What an earlier search found stands beside the field until the next one has begun.
    await this.page.locator(".search input").fill("");
    await this.page.keyboard.press("Enter");
    await this.page.waitForFunction(
      () => !document.querySelector(".search-count")?.textContent?.includes("/"),
    );
    await this.page.locator(".search input").fill(text);
    await this.page.keyboard.press("Enter");
    await this.page.waitForFunction(
      (q) =>
        document.querySelector(".search-count")?.textContent?.includes("/") &&
        document.querySelector(".search input")?.value === q,
      text,
    );
    await this.page.evaluate(() => document.activeElement?.blur());
    await this.settle();
  }

  /** The slice that is selected, as the server tells it. */
  async selected() {
    const { sel } = await this.state();
    if (sel === undefined) {
      return null;
    }
    const [rank, slice] = sel.split(":");
    return this.api("slice", { rank, slice });
  }

  /** The label of a lane in the column on the left; of the n-th rank that has it open. */
  lane(name, n = 0) {
    return this.page
      .locator(".tl-row", {
        has: this.page.locator(".tl-name", {
          hasText: new RegExp(`(^|\u203a )${name.replace(/[()]/g, "\\$&")}$`),
        }),
      })
      .nth(n);
  }

  /** Place of a lane's first row on the screen, at a share of the window's width. */
  async at(lane, share) {
    const plot = await this.page.locator(".tl-over").boundingBox();
    await lane.scrollIntoViewIfNeeded();
    const label = await lane.boundingBox();
    return [plot.x + plot.width * share, label.y + 12];
  }

  async drag(from, to) {
    await this.page.mouse.move(...from);
    await this.page.mouse.down();
    await this.page.mouse.move((from[0] + to[0]) / 2, (from[1] + to[1]) / 2, { steps: 3 });
    await this.page.mouse.move(...to, { steps: 3 });
    await this.page.mouse.up();
    await this.settle();
  }

  async shot(name) {
    if (process.env.PIPESCOPE_SHOTS) {
      await this.page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, `${name}.png`) });
    }
  }

  /** Rows of the table that is seen below, as texts: once there are any. */
  async rows(selector = ".bottom-body", n = 0) {
    const table = this.page.locator(`${selector} .table`).nth(n);
    await table.locator("[role=row][aria-rowindex]").nth(1).waitFor({ timeout: 60000 });
    await this.settle();
    return table.locator("[role=row][aria-rowindex]").allInnerTexts();
  }
}
