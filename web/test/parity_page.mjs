// What tests of parity with other viewers do with a page: they go to a place by the address, wait for what they expect, and click
// slices where the server says that they are.
import assert from "node:assert/strict";
import { shownName, Viewer } from "./page.mjs";

const PATIENCE = 60_000;
/** Of the rows of an open lane, in pixels. */
const ROW_PX = 20;
const LANE_PAD = 2;

/** Keeps the curves that were drawn last over the rows: [x0, y0, x1, y1] in pixels of the plot. */
function recordCurves() {
  const proto = CanvasRenderingContext2D.prototype;
  const { clearRect, moveTo, bezierCurveTo } = proto;
  const isOver = (ctx) => ctx.canvas.classList.contains("tl-over");
  let at = [0, 0];
  window.drawnCurves = [];
  proto.clearRect = function (...a) {
    if (isOver(this)) {
      window.drawnCurves = [];
    }
    return clearRect.apply(this, a);
  };
  proto.moveTo = function (x, y) {
    at = [x, y];
    return moveTo.call(this, x, y);
  };
  proto.bezierCurveTo = function (...a) {
    if (isOver(this)) {
      window.drawnCurves.push([...at, a[4], a[5]]);
    }
    return bezierCurveTo.apply(this, a);
  };
}

export class Stage extends Viewer {
  static async open(browser, url, { width = 1280, height = 900 } = {}) {
    const stage = await super.open(browser, url, { width, height });
    stage.lanes = new Map();
    for (const rank of stage.ranks.filter((r) => r.state === "ready")) {
      stage.lanes.set(rank.key, (await stage.api("lanes", { rank: rank.key })).nodes);
    }
    return stage;
  }

  async prepare() {
    this.page.setDefaultTimeout(PATIENCE);
    await this.page.addInitScript(recordCurves);
  }

  /** Asks until the answer is as it should be. */
  async until(ask, isGood, what) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const last = await ask();
      if (isGood(last)) {
        return last;
      }
      assert.ok(Date.now() < end, `${what}: ${JSON.stringify(last)?.slice(0, 600)}`);
      await this.settle();
    }
  }

  /** Until the address says so of the timeline. */
  says(isGood, what) {
    return this.until(() => this.said(), isGood, what);
  }

  shows(selector, text) {
    return this.page.locator(selector, { hasText: text }).first().waitFor({ state: "visible" });
  }

  count(selector) {
    return this.page.locator(selector).count();
  }

  /** The timeline as the address would have it; what is not said is as at first. */
  async look(state = {}, tab = "timeline") {
    await this.page.keyboard.press("Escape");
    const hash = new URLSearchParams({
      tab,
      ...Object.fromEntries(Object.entries(state).map(([k, v]) => [`tl.${k}`, v])),
    });
    await this.page.evaluate((h) => {
      // What was just done is not in the address yet: one that says the same would be no change.
      if (location.hash === `#${h}`) {
        dispatchEvent(new PopStateEvent("popstate"));
      } else {
        location.hash = h;
      }
    }, hash.toString());
    await this.page.locator(".tl-over").waitFor({ state: "visible" });
    await this.settle();
    await this.says(
      (now) =>
        Object.entries(state).every(([k, v]) => now[k] === v || k === "w") &&
        Object.keys(now).every((k) => k in state || k === "y"),
      "the address",
    );
  }

  rank(key) {
    return this.ranks.find((r) => r.key === key);
  }

  absolute(key, ns) {
    return BigInt(this.rank(key).origin_ns) + BigInt(Math.round(ns));
  }

  /** A node of the lane tree of a rank; undefined: it has none. */
  node(key, test) {
    return this.lanes.get(key)?.find(test);
  }

  /** All slices of a lane, by start. */
  async slices(key, lane) {
    const found = [];
    for (;;) {
      const { columns, rows, total } = await this.api("slices", {
        rank: key,
        lanes: lane,
        offset: found.length,
        limit: 5000,
      });
      const at = Object.fromEntries(columns.map((c, i) => [c[0], i]));
      found.push(
        ...rows.map((r) => ({
          rank: key,
          lane,
          slice: r[at.slice],
          row: r[at.row],
          start: r[at.start],
          dur: r[at.duration],
          name: r[at.name],
        })),
      );
      if (found.length >= total || rows.length === 0) {
        return found;
      }
    }
  }

  idOf(ref) {
    const node = this.node(ref.rank, (n) => n.lane === ref.lane);
    return `${ref.rank}|${node.id}`;
  }

  /** Pins the lanes of slices on top, opened, and shows this span of absolute ns. */
  async stageOf(refs, from, to, more = {}) {
    const ids = [...new Set(refs.map((r) => this.idOf(r)))];
    const quoted = ids.map((id) => id.replace(/[%,~]/g, (c) => `%${c.charCodeAt(0).toString(16)}`));
    const keys = [...new Set(refs.map((r) => r.rank))];
    await this.look({
      pin: quoted.join(","),
      all: quoted.map((id) => `+${id}`).join(","),
      ranks: `=${keys.join(",")}`,
      w: `${from}+0+${Number(to - from)}`,
      ...more,
    });
    for (const id of ids) {
      await this.page.locator(`.tl-pins .tl-row[data-id="${id}"]`).waitFor();
    }
    this.window = { from, span: Number(to - from), ids };
  }

  /** Place of an absolute time in the row of a pinned lane, in pixels of the plot. */
  async spot(ref, at) {
    const plot = await this.page.locator(".tl-over").boundingBox();
    const label = await this.page
      .locator(`.tl-pins .tl-row[data-id="${this.idOf(ref)}"]`)
      .boundingBox();
    return {
      x: (Number(at - this.window.from) / this.window.span) * plot.width,
      y: label.y - plot.y + LANE_PAD + ref.row * ROW_PX + (ROW_PX - 2) / 2,
      plot,
    };
  }

  /** Where a curve may end in the row of a slice: among the pinned rows, or in the list below them. */
  async ends(ref, at) {
    const pinned = await this.spot(ref, at);
    const found = [pinned];
    for (const row of await this.listed(this.idOf(ref)).all()) {
      const label = await row.boundingBox();
      found.push({
        ...pinned,
        y:
          pinned.y +
          label.y -
          (await this.page.locator(`.tl-pins .tl-row[data-id="${this.idOf(ref)}"]`).boundingBox())
            .y,
      });
    }
    return found;
  }

  /** Until a curve is drawn from one of these places to one of those. */
  async drawn(from, to, what) {
    const meets = (x, y, places) =>
      places.some((p) => Math.abs(p.x - x) < 2 && Math.abs(p.y - y) < 2);
    await this.until(
      () => this.curves(),
      (all) => all.some(([x0, y0, x1, y1]) => meets(x0, y0, from) && meets(x1, y1, to)),
      `${what}: an arrow from ${from.map((p) => [p.x, p.y])} to ${to.map((p) => [p.x, p.y])}`,
    );
  }

  /** The pointer on a place of the plot, once a slice of this name is known to be there. */
  async point({ x, y, plot }, name) {
    let shift = 0;
    await this.until(
      async () => {
        shift = shift === 0 ? 0.25 : 0;
        await this.page.mouse.move(plot.x + x + shift, plot.y + y);
        const tip = this.page.locator(".tl-tip .tl-tip-name");
        return (await tip.count()) > 0 ? tip.first().innerText() : "";
      },
      (text) => text.includes(shownName(name)),
      `no ${name} under the pointer`,
    );
  }

  /** Shows a slice alone in its pinned lane, with the pointer on it. */
  async pointAt(ref, more = {}) {
    const start = this.absolute(ref.rank, ref.start);
    const room = BigInt(Math.max(2, Math.ceil(ref.dur / 2)));
    await this.stageOf([ref], start - room, start + BigInt(ref.dur) + room, more);
    const spot = await this.spot(ref, start + BigInt(Math.floor(ref.dur / 2)));
    await this.point(spot, ref.name);
    return spot;
  }

  /** Clicks a slice; the address says that it is selected. */
  async click(ref, more = {}) {
    const { x, y, plot } = await this.pointAt(ref, more);
    await this.page.mouse.click(plot.x + x, plot.y + y);
    await this.says(
      (now) => now.sel === `${ref.rank}:${ref.slice}`,
      `a click on ${ref.name} selects it`,
    );
  }

  /** The menu of the right button over a slice. */
  async menuOf(ref, more = {}) {
    const { x, y, plot } = await this.pointAt(ref, more);
    await this.page.mouse.click(plot.x + x, plot.y + y, { button: "right" });
    await this.page.locator(".tl-menu").waitFor();
  }

  choose(text) {
    return this.page.locator(".tl-menu button:not([disabled])", { hasText: text }).first().click();
  }

  /** The row of a node in the list, by its id. */
  listed(id) {
    return this.page.locator(`.tl-region:not(.tl-pins) .tl-row[data-id="${id}"]`);
  }

  /** That row, scrolled to. */
  row(id) {
    return this.scrolledTo(this.listed(id));
  }

  /** A row of the list that is drawn once it is in sight. */
  async scrolledTo(row) {
    const plot = await this.page.locator(".tl-over").boundingBox();
    await this.page.mouse.move(plot.x + 300, plot.y + plot.height - 20);
    if ((await row.count()) === 0) {
      await this.page.mouse.wheel(0, -1e6); // it may lie above
      await this.settle();
    }
    for (let i = 0; i < 100 && (await row.count()) === 0; i++) {
      await this.page.mouse.wheel(0, plot.height / 2);
      await this.settle();
    }
    await row.waitFor();
    return row;
  }

  async laneMenu(row, ...choices) {
    await row.click({ button: "right", position: { x: 60, y: 8 } });
    for (const choice of choices) {
      await this.choose(choice);
    }
  }

  /** The curves over the rows, as they were drawn last. */
  curves() {
    return this.page.evaluate(() => window.drawnCurves);
  }

  /** What the capture has nothing of is named behind the bell, with what collects it. */
  async saysMissing(part) {
    const told = this.ranks[0].missing.find((m) => m.part === part);
    assert.ok(told !== undefined, `${part} is missing`);
    await this.page.locator(".bell").click();
    await this.shows("dialog", told.what);
    await this.shows("dialog", told.remedy);
    await this.page.keyboard.press("Escape");
    await this.page.locator("dialog").waitFor({ state: "detached" });
  }

  /** Another page, as the address would have it, once what it asks for is there. */
  async open(tab, state = {}) {
    const hash = new URLSearchParams({ tab, ...state }).toString();
    await this.page.evaluate((h) => (location.hash = h), hash);
    const slot = this.page.locator(`#page-${tab}`);
    await slot.waitFor({ state: "visible" });
    await this.idle(slot);
    return slot;
  }

  /** Until nothing below it is worked out or asked for. */
  async idle(slot) {
    await this.settle();
    await this.until(
      () => slot.locator("[aria-busy=true]").count(),
      (busy) => busy === 0,
      "it is still busy",
    );
  }

  /** The last rows of the table that is seen, once it is not busy. */
  async table(selector, n = 0) {
    const grid = this.page.locator(`${selector} .grid`).nth(n);
    await this.until(
      () => grid.getAttribute("aria-busy"),
      (busy) => busy === "false",
      `the table of ${selector}`,
    );
    return this.rows(selector, n);
  }
}
