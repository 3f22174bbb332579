// The items of the parity list that are about the timeline: what people do with the timeline of other viewers, one by one, on any capture.
import assert from "node:assert/strict";
import { calls, device, first, idOf, kernels, most, nodes, skip, v } from "./parity_stage.mjs";

const menuItem = (text) => v.page.locator(".tl-menu button", { hasText: text }).first();

// --- what of the capture is used -------------------------------------------------------------------------------------

/** Long enough to be hit, in the first row, with more of the lane around it. */
const kernel = kernels.filter((s) => s.row === 0).sort((a, b) => b.dur - a.dur)[0];
const parentOf = (node) => nodes[node.parent];
/** A group with several lanes below it. */
const family = nodes.find(
  (n, i) =>
    n.lane < 0 &&
    nodes.filter((m) => m.parent === i).length > 1 &&
    nodes.every((m) => m.parent !== i || m.lane >= 0),
);
const children = nodes.filter((n) => n.parent === nodes.indexOf(family));

const windowOf = (said) => {
  if (said.w === undefined) {
    return null;
  }
  const [from, rest, span] = said.w.split("+");
  return {
    from: Number(BigInt(from) - BigInt(v.ranks[0].origin_ns)) + Number(rest),
    span: Number(span),
  };
};
/** Where the first window is but a part of what was recorded, the address says that all of it is shown. */
const isEverything = (s) => s.w === undefined || s.w === "all";
const near = (a, b, share = 0.02) => Math.abs(a - b) <= Math.abs(b) * share + 2;
const escaped = (id) => id.replace(/[%,~]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
const listOf = (text) =>
  (text ?? "")
    .split(",")
    .filter((s) => s !== "")
    .map((s) => s.replace(/%(25|2c|7e)/g, (_, h) => String.fromCharCode(parseInt(h, 16))));
/** All lanes open, so that any may be scrolled to. */
const opened = { all: "+" };
/** Drags over a lane, from one share of the window to another. */
async function boxOver(lane, from, to, keys = []) {
  const plot = await v.page.locator(".tl-over").boundingBox();
  const label = await v.page
    .locator(`.tl-row[data-id="${idOf(lane)}"]`)
    .first()
    .boundingBox();
  for (const key of keys) {
    await v.page.keyboard.down(key);
  }
  await v.drag(
    [plot.x + plot.width * from, label.y + 12],
    [plot.x + plot.width * to, label.y + 12],
  );
  for (const key of keys) {
    await v.page.keyboard.up(key);
  }
}
/** The box that was dragged so, once the address tells of all of it; edges of slices attract. */
async function boxed(from, to) {
  const told = () =>
    v.says(
      (s) =>
        s.box !== undefined &&
        Math.abs(Number(s.box.split(",")[0].split("+")[1]) / v.window.span - (to - from)) < 0.02,
      "a box",
    );
  await v.page.locator(".tl-over:not([aria-busy])").waitFor({ state: "attached" });
  await told();
  await v.settle();
  return (await told()).box;
}
/** A part of the recording with a hundred of the device's slices at most, over the pinned lane. */
async function closeUp(more = {}) {
  const middle = kernels[Math.floor(kernels.length / 2)];
  const last = kernels[Math.min(kernels.length - 1, Math.floor(kernels.length / 2) + 20)];
  const from = v.absolute(first, middle.start);
  await v.stageOf(
    [middle],
    from,
    from + BigInt(Math.max(1000, last.start + last.dur - middle.start)),
    more,
  );
}

const rankShown = () =>
  v.page
    .locator(".tl-region:not(.tl-pins) .tl-row.tl-rank")
    .evaluateAll((all) => all.map((r) => r.getAttribute("data-id")));

export const TIMELINE = {
  "1 expand and collapse": async () => {
    await v.look();
    const twist = v.listed(first).locator(".tl-twist");
    assert.equal(
      await v.listed(first).getAttribute("aria-expanded"),
      "true",
      "the first rank is open at first",
    );
    const before = await v.count(".tl-row");
    await twist.click();
    await v.says((s) => listOf(s.open).includes(`-${first}`), "closed");
    await v.until(
      () => v.count(".tl-row"),
      (n) => n < before,
      "fewer rows",
    );
    await twist.click();
    await v.until(
      () => v.count(".tl-row"),
      (n) => n === before,
      "as many rows as before",
    );
  },

  "17 expand all, collapse all": async () => {
    await v.look();
    await v.page.locator(".tl-corner button[aria-label='Collapse all lanes']").click();
    await v.says((s) => s.all === "-", "all closed");
    const closed = await v.count(".tl-row");
    await v.page.locator(".tl-corner button[aria-label='Expand all lanes']").click();
    await v.says((s) => s.all === "+", "all open");
    await v.until(
      () => v.count(".tl-row"),
      (n) => n > closed,
      "more rows",
    );
    await v.laneMenu(await v.row(first), "Collapse all below");
    await v.says((s) => listOf(s.all).includes(`-${first}`), "those of one rank closed");
  },

  "2 pin and unpin": async () => {
    await v.look(opened);
    const row = await v.row(idOf(device));
    await row.hover();
    await row.locator("button[aria-label='Pin on top']").click();
    await v.says((s) => s.pin === escaped(idOf(device)), "pinned");
    await v.page.locator(`.tl-pins .tl-row[data-id="${idOf(device)}"]`).waitFor();
    await v.page.locator(".tl-pins .tl-row").first().hover();
    await v.page.locator(".tl-pins button[aria-label='Unpin']").first().click();
    await v.says((s) => s.pin === undefined, "no longer pinned");
  },

  "28 pin the same group of all ranks": async () => {
    const lane = most("comm") ?? device;
    const others = v.ranks.filter((r) => v.node(r.key, (n) => n.id === lane.id));
    await v.look(opened);
    await v.laneMenu(await v.row(idOf(lane)), "Pin this lane of all ranks");
    const { pin } = await v.says(
      (s) => listOf(s.pin).length >= others.length,
      `${others.length} pinned`,
    );
    // Members of the communicator have it under names of their own, too.
    const of = listOf(pin).map((id) => id.split("|")[0]);
    assert.equal(new Set(of).size, of.length, "one of each rank");
    assert.ok(others.every((r) => of.includes(r.key)));
    await v.page.locator(".tl-pins .tl-row").first().click({ button: "right" });
    await v.choose("Unpin this lane of all ranks");
    await v.says((s) => s.pin === undefined, "none is pinned");
  },

  "3 enter an offset": async () => {
    await v.look();
    await v.listed(first).hover();
    await v.listed(first).locator("button[aria-label='Time offset']").click();
    await v.page.locator("dialog input").fill("-1500");
    await v.page.keyboard.press("Enter");
    await v.says((s) => s.off === `${first}=-1500`, "the rank moved");
    await v.laneMenu(await v.row(idOf(parentOf(device))), "Time offset");
    await v.page.locator("dialog input").fill("250");
    await v.page.keyboard.press("Enter");
    await v.says(
      (s) => listOf(s.off).length === 2 && /=250$/.test(listOf(s.off)[1]),
      "a part of it moved",
    );
    await v.laneMenu(await v.row(first), "Undo all offsets");
    await v.says((s) => s.off === undefined, "all are where they were");
  },

  "4 a click shows the details of a slice": async () => {
    await v.click(kernel);
    const told = await v.api("slice", { rank: first, slice: kernel.slice });
    const text = await v.until(
      () => v.page.locator(".detail").innerText(),
      (s) => s.includes(kernel.name),
      "its name",
    );
    assert.ok(text.includes(String(BigInt(told.origin_ns) + BigInt(told.start))), "its raw start");
    assert.ok(text.includes(told.source), "where it comes from");
    for (const [key] of told.args) {
      assert.ok(text.includes(key), `argument ${key}`);
    }
  },

  "5 a box lists its slices": async () => {
    await closeUp();
    await boxOver(device, 0.2, 0.7);
    const box = await boxed(0.2, 0.7);
    await v.below("Slice List");
    const [at, lane] = box.split(",");
    const [start, took] = at.split("+");
    const from = Number(BigInt(start) - BigInt(v.ranks[0].origin_ns));
    const told = await v.api("stats", {
      rank: first,
      lanes: lane.split(":")[1],
      from,
      to: from + Number(took),
      sort: "wall time",
      desc: 1,
    });
    await v.until(
      () => v.page.locator(".slice-list .panel-bar").innerText(),
      (s) => new RegExp(`\\b${told.totals.n} slices`).test(s),
      `${told.totals.n} slices in ${box}`,
    );
    assert.ok(
      (await v.table(".slice-list"))[1].includes(told.rows[0][0]),
      "the most expensive name comes first",
    );
    await v.page.locator(".slice-list [role=row][aria-rowindex='2']").first().click();
    assert.ok((await v.table(".slice-list", 1)).length > 1, "every slice of that name");
    const { width, height } = v.page.viewportSize();
    for (const w of [900, 1920, width]) {
      await v.page.setViewportSize({ width: w, height });
      await v.settle();
      const cut = await v.page
        .locator(".slice-list .grid")
        .evaluateAll((grids) =>
          grids.flatMap((grid) => [
            ...(grid.scrollWidth > grid.clientWidth ? ["columns"] : []),
            ...[...grid.querySelectorAll(".grid-row .num, .head-name")]
              .filter((cell) => cell.scrollWidth > cell.clientWidth + 1)
              .map((cell) => cell.textContent),
          ]),
        );
      assert.deepEqual(cut, [], `nothing is cut, ${w} pixels wide`);
    }
  },

  "6 statistics load": async () => {
    await v.look();
    await v.below("System View");
    const views = (await v.api("views")).views.filter(
      (w) => w.tab === "timeline" && w.of === "rank" && !w.params.includes("leaf"),
    );
    let shown = 0;
    for (const [i, view] of views.entries()) {
      const reply = await v
        .api("view", { name: view.name, rank: first, limit: 1 })
        .catch((error) => error);
      await v.page.locator(".system [role=tab]").nth(i).click();
      if (reply instanceof Error) {
        assert.match(reply.message, /: 409 /, view.name);
        await v.until(
          () => v.page.locator(".system .split").innerText(),
          (s) => s.length > 40,
          `${view.name} says what is missing`,
        );
      } else if (reply.total > 0) {
        await v.table(".system");
        shown++;
      }
    }
    assert.ok(shown >= (v.ranks[0].has.includes("device") ? 3 : 1), `${shown} views have rows`);
  },

  "6 advice loads": async () => {
    await v.look();
    await v.below("System View");
    await v.page.locator(".system [role=tab]", { hasText: "dvice" }).first().click();
    const told = await v.api("view", { name: "advice", rank: first });
    if (told.rows.length === 0) {
      await v.shows(".system", "Nothing stands out");
      skip("nothing to advise");
    }
    const rows = await v.table(".system");
    const title = told.columns.findIndex((c) => c[0] === "title");
    assert.ok(
      told.rows.some((r) => rows[1].includes(r[title])),
      "a finding",
    );
  },

  "7 search": async () => {
    await v.look();
    const text = kernel.name.slice(0, 100);
    await v.find(text);
    const told = await v.api("search", { q: text });
    await v.until(
      () => v.page.locator(".search-count").innerText(),
      (s) => s.startsWith("1 / "),
      "the first of them",
    );
    assert.equal(await v.page.locator(".search-count").innerText(), `1 / ${told.total}`);
    const { sel } = await v.says((s) => s.sel !== undefined, "it is selected");
    if (told.total > 1) {
      await v.press("n");
      await v.says((s) => s.sel !== sel, "N goes on");
      await v.press("Shift+N");
      await v.says((s) => s.sel === sel, "Shift+N goes back");
      // Before the first one the last one, with a word.
      await v.press("Shift+N");
      await v.page.locator(".toast", { hasText: "on with the last" }).waitFor();
      await v.until(
        () => v.page.locator(".search-count").innerText(),
        (s) => s === `${told.total} / ${told.total}`,
        "the last one",
      );
    }
    await v.below("Find");
    assert.ok((await v.table(".find")).length > 1, "the list of all");
  },

  "7 deep search: values of arguments": async () => {
    let found = null;
    for (const ref of [kernel, ...kernels.slice(0, 5), ...calls.slice(0, 20)]) {
      const { args } = await v.api("slice", { rank: first, slice: ref.slice });
      const value = args
        .map(([, a]) => String(typeof a === "object" ? "" : a))
        .find((a) => /^[\w.-]{4,40}$/.test(a));
      if (
        value !== undefined &&
        (await v.api("search", { q: value })).total === 0 &&
        (await v.api("search", { q: value, args: 1 })).total > 0
      ) {
        found = { value, n: (await v.api("search", { q: value, args: 1 })).total };
        break;
      }
    }
    if (found === null) {
      skip("no argument has a value of its own");
    }
    await v.look();
    await v.page.locator(".search input").fill(found.value);
    await v.until(
      () => v.page.locator(".search-count").innerText(),
      (s) => /^0\b|^no/i.test(s),
      "no name has it",
    );
    const deep = v.page.locator(".search button", { hasText: "{}" });
    await deep.click();
    await v.until(
      () => v.page.locator(".search-count").innerText(),
      (s) => s.includes(String(found.n)),
      "arguments do",
    );
    await v.page.locator(".search input").press("Enter");
    const { sel } = await v.says((s) => s.sel !== undefined, "one is selected");
    const [rank, slice] = sel.split(":");
    assert.ok(
      JSON.stringify((await v.api("slice", { rank, slice })).args).includes(found.value),
      "and has the value",
    );
    await deep.click();
    await v.page.locator(".search input").fill("");
    await v.page.evaluate(() => document.activeElement.blur());
  },

  "9 rank filter": async () => {
    if (v.ranks.length < 2) {
      skip("one rank");
    }
    await v.look();
    await v.page.locator(".tools button[aria-label='Ranks']").click();
    await v.page.locator(".menu-box").getByText("None", { exact: true }).click();
    await v.page
      .locator(".menu-box .choice", { hasText: v.ranks[1].label })
      .first()
      .locator("input")
      .check();
    await v.page.keyboard.press("Escape");
    await v.says((s) => s.ranks === `=${v.ranks[1].key}`, "one rank is left");
    await v.until(rankShown, (keys) => keys.length === 1 && keys[0] === v.ranks[1].key, "its row");
  },

  "10 lane filter": async () => {
    await v.look(opened);
    await v.page.locator(".tools button[aria-label='Lanes']").click();
    await v.page.locator(".menu-box").getByText("None", { exact: true }).click();
    const narrow = v.page.locator(".menu-box input:not([type=checkbox])");
    if ((await narrow.count()) > 0) {
      await narrow.fill(device.name);
    }
    await v.page
      .locator(".menu-box .choices .choice")
      .filter({ has: v.page.getByText(device.name, { exact: true }) })
      .first()
      .locator("input")
      .check();
    await v.page.keyboard.press("Escape");
    await v.says((s) => s.lanes === `=${escaped(device.name)}`, "lanes of one name are left");
    await v.row(idOf(device));
    const other = nodes.find((n) => n.lane >= 0 && n.name !== device.name);
    assert.equal(await v.listed(idOf(other)).count(), 0, "others are not there");
  },

  "11 zoom and reset with the tools": async () => {
    await v.look();
    await v.page.locator(".tools button[aria-label='Zoom in']").click();
    const once = windowOf(await v.says((s) => s.w !== undefined, "zoomed"));
    await v.page.locator(".tools button[aria-label='Zoom in']").click();
    await v.says((s) => near(windowOf(s).span, once.span / 2), "twice");
    await v.page.locator(".tools button[aria-label='Zoom out']").click();
    await v.says((s) => near(windowOf(s).span, once.span), "once back");
    await v.page.locator(".tools").getByText("Fit", { exact: true }).click();
    await v.says(isEverything, "everything");
  },

  "12 two flags and the marker list": async () => {
    await v.look();
    const plot = await v.page.locator(".tl-over").boundingBox();
    await v.page.mouse.click(plot.x + plot.width * 0.3, plot.y - 8);
    await v.page.mouse.click(plot.x + plot.width * 0.6, plot.y - 8);
    const { mark } = await v.says((s) => listOf(s.mark).length === 2, "two markers");
    await v.look({ mark, w: `${v.absolute(first, v.ranks[0].start)}+0+1000` });
    await v.below("Markers");
    assert.equal(await v.count(".markers tbody tr"), 2);
    await v.page.locator(".markers tbody input[aria-label='Name']").first().fill("here");
    await v.says((s) => /\/here/.test(s.mark), "a name");
    await v.page.locator(".markers button[aria-label='Show in the timeline']").first().click();
    await v.says((s) => windowOf(s).from > v.ranks[0].start + 1000, "jumped there");
    await v.page.locator(".markers button[aria-label='Delete']").first().click();
    await v.says((s) => listOf(s.mark).length === 1, "one is left");
    await v.page.locator(".markers").getByText("Delete all", { exact: false }).first().click();
    await v.says((s) => s.mark === undefined, "none");
  },

  "23 k marks a place, K takes it away; of a box a region": async () => {
    await closeUp();
    const plot = await v.page.locator(".tl-over").boundingBox();
    await v.page.mouse.move(plot.x + plot.width * 0.45, plot.y + plot.height - 30);
    await v.press("k");
    await v.says((s) => /^\d+\/0\/$/.test(s.mark ?? ""), "k: a point");
    await v.page.keyboard.press("Shift+K");
    await v.says((s) => s.mark === undefined, "K at the same place: none");
    await boxOver(device, 0.2, 0.4);
    await boxed(0.2, 0.4);
    await v.press("k");
    await v.says((s) => /^\d+\+\d+\/0\/$/.test(s.mark ?? ""), "a region");
    await v.press("k");
    await v.says((s) => s.mark === undefined, "and gone");
  },

  "13 add a marker by the menu, name it by a double click": async () => {
    await v.look();
    const plot = await v.page.locator(".tl-over").boundingBox();
    const header = await v.listed(first).boundingBox();
    await v.page.mouse.click(plot.x + plot.width * 0.4, header.y + 4, { button: "right" });
    await v.choose("Set a marker here");
    await v.says((s) => listOf(s.mark).length === 1, "a marker");
    await v.page.mouse.dblclick(plot.x + plot.width * 0.4 + 1, plot.y - 8);
    await v.page.locator("dialog input").first().fill("named");
    await v.page.keyboard.press("Enter");
    await v.says((s) => /\/named$/.test(s.mark), "its name");
  },

  "14 fit to screen": async () => {
    await v.menuOf(kernel);
    await v.choose("Fit the slice to the screen");
    const { span, from } = windowOf(
      await v.says((s) => {
        const w = windowOf(s);
        return w !== null && w.span < 1.6 * kernel.dur + 10 && w.span >= kernel.dur;
      }, "the slice fills the window"),
    );
    assert.ok(from <= kernel.start && from + span >= kernel.start + kernel.dur, "all of it");
  },

  "19 zoom by the menu, undo, reset": async () => {
    await v.click(kernel);
    await v.press("m");
    await v.says((s) => s.box !== undefined, "M frames it");
    const { x, y, plot } = await v.spot(kernel, v.absolute(first, kernel.start + kernel.dur / 2));
    const open = () => v.page.mouse.click(plot.x + plot.width / 2, plot.y + y, { button: "right" });
    assert.ok(x > 0);
    const before = windowOf(await v.said());
    await open();
    await v.choose("Zoom to the box");
    await v.says((s) => near(windowOf(s).span, kernel.dur), "the box fills the window");
    await open();
    await v.choose("Undo zoom or move");
    await v.says((s) => windowOf(s) !== null && near(windowOf(s).span, before.span), "undone");
    await open();
    await v.choose("Show everything");
    await v.says(isEverything, "everything");
  },

  "15 from a communication operator to Communication": async () => {
    const lane = most("comm");
    const ref =
      lane !== undefined
        ? (await v.slices(first, lane.lane)).sort((a, b) => b.dur - a.dur)[0]
        : (await v.api("search/list", { q: "nccl", ranks: first, limit: 1000 })).rows.find(
            (r) => r.kind === "communication-kernel",
          );
    if (ref === undefined) {
      skip("communication of marks of the host");
    }
    await v.menuOf(ref);
    await menuItem("Find in Communication").waitFor();
    await v.choose("Find in Communication");
    await v.until(
      () => v.said("comm"),
      (s) => s.view === "duration" && s.op === ref.name,
      "the page shows this operator",
    );
    const label = v.rank(ref.rank).label;
    await v.shows("main .card", label);
    await v.page.locator("nav").getByText("Timeline", { exact: true }).first().click();
    await v.page.locator(".tl-over").waitFor();
  },

  "16 hide one, its siblings, a parent with its children": async () => {
    await v.look(opened);
    await v.laneMenu(await v.row(idOf(children[0])), "Hide");
    await v.says((s) => listOf(s.hide).join() === idOf(children[0]), "one is hidden");
    assert.equal(await v.listed(idOf(children[0])).count(), 0);
    await (await v.scrolledTo(v.page.locator(".tl-hidden button").first())).click();
    await v.says((s) => s.hide === undefined, "shown again");
    await v.look(opened);
    await v.laneMenu(await v.row(idOf(children[1])), "Hide the others beside it");
    await v.says(
      (s) =>
        listOf(s.hide).length === children.length - 1 &&
        !listOf(s.hide).includes(idOf(children[1])),
      "the others are hidden",
    );
    await v.laneMenu(await v.row(first), "Show all hidden lanes");
    await v.says((s) => s.hide === undefined, "all again");
    await v.look(opened);
    await v.laneMenu(await v.row(idOf(family)), "Hide");
    await v.says((s) => listOf(s.hide).join() === idOf(family), "the parent is hidden");
    assert.equal(await v.listed(idOf(children[0])).count(), 0, "and what is below it");
  },

  "18 show in Events View": async () => {
    await v.look(opened);
    await v.laneMenu(await v.row(idOf(device)), "Show in Events View");
    await v.shows(".bottom-body .table", device.name);
    assert.ok((await v.table(".bottom-body")).length > 1);
    const told = await v.api("slices", { rank: first, lanes: device.lane, limit: 1 });
    assert.equal(told.total, kernels.length);
    await v.page.locator(".bottom-body [role=row][aria-rowindex='2']").first().dblclick();
    await v.says((s) => s.sel === `${first}:${kernels[0].slice}`, "a row leads to its slice");
    await v.menuOf(kernel);
    await v.choose("Show in Events View");
    await v.shows(".bottom-body .table", device.name);
    // Where tables keep to a span the list says so, and gives all of it back.
    const half = { ...opened, span: `${v.absolute(first, kernels[0].start)}+${kernels[0].dur}` };
    await v.look(half);
    await v.laneMenu(await v.row(idOf(device)), "Show in Events View");
    await v.shows(".bottom-tabs", "Of a span of");
    assert.ok((await v.table(".bottom-body")).length < kernels.length);
    await v.page.getByRole("button", { name: "whole recording" }).click();
    const grouped = String(kernels.length).replace(/\B(?=(\d{3})+$)/g, ".?");
    await v.shows(".bottom-body .table-title", new RegExp(`${grouped} rows`));
    await v.says((s) => s.span === undefined && s.events !== undefined, "of the whole recording");
  },

  "20 hide Python stacks": async () => {
    const python = nodes.find((n) => n.kind === "python");
    if (python === undefined) {
      await v.saysMissing("python");
      skip("no Python stacks");
    }
    await v.look(opened);
    await v.row(idOf(python));
    await v.laneMenu(await v.row(first), "Hide Python stacks");
    await v.says((s) => listOf(s.hide).includes(idOf(python)), "hidden");
    await v.laneMenu(await v.row(first), "Show Python stacks");
    await v.says((s) => s.hide === undefined, "shown");
  },

  "21 W, A, S, D": async () => {
    await closeUp();
    const plot = await v.page.locator(".tl-over").boundingBox();
    await v.page.mouse.move(plot.x + plot.width / 2, plot.y + plot.height - 30);
    const at = windowOf(await v.said());
    await v.press("w");
    const closer = windowOf(await v.says((s) => windowOf(s).span < at.span * 0.9, "W zooms in"));
    await v.press("d");
    await v.says(
      (s) => windowOf(s).from > closer.from && near(windowOf(s).span, closer.span),
      "D goes right",
    );
    await v.press("a");
    await v.says((s) => near(windowOf(s).from, closer.from, 0.001), "A goes left");
    await v.press("s");
    await v.says((s) => near(windowOf(s).span, at.span), "S zooms out");
  },

  "22 Q opens and closes the lower panel": async () => {
    await v.look();
    await v.press("q");
    await v.says((s) => s.bottom === "0", "closed");
    assert.equal(await v.count(".bottom-body"), 0);
    await v.press("q");
    await v.page.locator(".bottom-body").waitFor();
  },

  "24 Shift+Z zooms to the box": async () => {
    await closeUp();
    await boxOver(device, 0.3, 0.6);
    const box = await boxed(0.3, 0.6);
    await v.press("Shift+Z");
    await v.says(
      (s) => near(windowOf(s).span, Number(box.split(",")[0].split("+")[1])),
      "it fills the window",
    );
  },

  "25 Alt+drag zooms, Backspace undoes, Ctrl+0 shows everything": async () => {
    await closeUp();
    const at = windowOf(await v.said());
    await boxOver(device, 0.3, 0.5, ["Alt"]);
    await v.says(
      (s) => windowOf(s).span < at.span * 0.4 && s.box === undefined,
      "zoomed, without a box",
    );
    await v.press("Backspace");
    await v.says((s) => near(windowOf(s).span, at.span), "undone");
    await v.press("Control+0");
    await v.says(isEverything, "everything");
  },

  "26 memory counters": async () => {
    const memory = nodes.find(
      (n) => n.kind === "counter" && /APP\/(HBM|Memory)$|mem.*reserved/i.test(n.id) && n.slices > 1,
    );
    if (memory === undefined) {
      await v.saysMissing("counters");
      skip("no counters");
    }
    const id = idOf(memory);
    await v.look({ pin: escaped(id), ranks: `=${first}` });
    const label = v.page.locator(`.tl-pins .tl-row[data-id="${id}"]`);
    await label.waitFor();
    const { y, height } = await label.boundingBox();
    const plot = await v.page.locator(".tl-over").boundingBox();
    await v.until(
      async () => {
        for (const share of [0.35, 0.5, 0.65, 0.8, 0.95]) {
          await v.page.mouse.move(plot.x + plot.width * share, y + height / 2);
          await v.settle();
          const tip = v.page.locator(".tl-tip");
          if ((await tip.count()) > 0 && (await tip.innerText()).includes(memory.name)) {
            return tip.innerText();
          }
        }
        return "";
      },
      (text) => /\d/.test(text),
      "a value under the pointer",
    );
    assert.match(await label.locator(".tl-scale").innerText(), /\d/, "its scale");
    // Those that do not change share a row; it opens them.
    const below = (group) => nodes.filter((n) => nodes[n.parent] === group);
    const group = nodes.find((n) => n.name === "NPU Module Mem");
    const idle = below(group).filter((n) => n.idle);
    assert.ok(idle.length > 10 && idle.length < below(group).length);
    await v.look({ ranks: `=${first}`, lanes: `=${escaped(group.name)}` });
    const folded = v.page.locator(".tl-row", { hasText: `${idle.length} idle counters` });
    await folded.locator("button").click();
    await v.page.locator(`.tl-row[data-id="${idOf(idle[0])}"]`).waitFor();
  },

  "27 a locked box stays when a slice is clicked": async () => {
    await closeUp();
    await boxOver(device, 0.2, 0.7);
    const box = await boxed(0.2, 0.7);
    await v.page.locator(".tools").getByText("Lock box", { exact: true }).click();
    await v.says((s) => s.lock === "1", "locked");
    const inside = kernels[Math.floor(kernels.length / 2)];
    await v.pointAt(inside, { box, lock: "1" });
    await v.page.mouse.down();
    await v.page.mouse.up();
    await v.says(
      (s) => s.sel === `${first}:${inside.slice}` && s.box === box && s.lock === "1",
      "selected, and the box is still there",
    );
    await v.press("Shift+L");
    await v.says((s) => s.lock === undefined && s.box === box, "unlocked");
  },

  "8 link lines of a host and of a device operator": async () => {
    const kinds = (await v.api("flows/kinds", { rank: first })).kinds
      .map(([kind]) => kind)
      .filter((k) => !["send-recv", "collective", "fwdbwd", "async_task_queue"].includes(k));
    if (kinds.length === 0) {
      await v.saysMissing("flows");
      skip("no launches");
    }
    const told = await v.api("flows/window", { rank: first, kind: kinds[0], limit: 50 });
    assert.ok(told.flows.length > 0);
    const [from, to] = told.flows[Math.floor(told.flows.length / 2)];
    for (const slice of [from, to]) {
      const ref = await v.api("slice", { rank: first, slice });
      await v.click(ref);
      await v.until(
        () => v.curves(),
        (c) => c.length > 0,
        `lines of ${ref.name}`,
      );
      const other = slice === from ? to : from;
      const link = ref.links.find((l) => l.ref.slice === other);
      await v.page.locator(".detail .ref", { hasText: link.ref.name }).first().waitFor();
    }
  },
};
