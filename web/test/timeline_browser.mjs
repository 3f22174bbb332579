// node timeline_browser.mjs CHROMIUM: what the timeline does for people, on a synthetic recording. PIPESCOPE_SHOTS=DIR keeps
// pictures.
import assert from "node:assert/strict";
import { join } from "node:path";
import { launchUnseen, until } from "./page.mjs";
import { serveSynthetic } from "./timeline_server.mjs";

const [executablePath] = process.argv.slice(2);
const server = await serveSynthetic({ nRanks: 2, nLanes: 12, rows: 2, spanNs: 2e5 });
const browser = await launchUnseen(executablePath);
const faults = [];
const page = await browser.newPage({
  viewport: { width: 1280, height: 720 },
  colorScheme: "light",
});
page.on("pageerror", (error) => faults.push(error.message));

const settle = async () => {
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  await page.waitForTimeout(40);
};
/** What the address says of the timeline, once it has caught up. */
const state = async () => {
  await page.waitForTimeout(330);
  return page.evaluate(() =>
    Object.fromEntries(
      [...new URLSearchParams(location.hash.slice(1))]
        .filter(([k]) => k.startsWith("tl."))
        .map(([k, v]) => [k.slice(3), v]),
    ),
  );
};
const windowOf = (s) => {
  if (s.w === undefined) {
    return null;
  }
  const [from, rest, span] = s.w.split("+");
  return { from: Number(BigInt(from) - 1700000000000000000n) + Number(rest), span: Number(span) };
};
const shot = async (name) =>
  process.env.PIPESCOPE_SHOTS && page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
const press = async (...keys) => {
  for (const key of keys) {
    await page.keyboard.press(key);
  }
  await settle();
};

await page.goto(server.url);
await page.waitForFunction(() => performance.getEntriesByName("first-lanes").length > 0);
await settle();
assert.deepEqual(await state(), {}, "a view that nobody changed says nothing");
const plot = await page.locator(".tl-over").boundingBox();
const at = (x, y) => [plot.x + x, plot.y + y];
const row = (name) =>
  page
    .locator(".tl-row", { has: page.locator(".tl-name", { hasText: new RegExp(`^${name}$`) }) })
    .first();
const middleOf = async (name) => {
  const b = await row(name).boundingBox();
  return b.y - plot.y + 12;
};

// --- window ------------------------------------------------------------------------------------------------------------

await page.mouse.move(...at(plot.width / 2, 60));
await press("w");
const once = windowOf(await state());
assert.ok(Math.abs(once.span - (2e5 * 1.02) / 1.5) < 10, "W zooms in");
await press("s");
assert.ok(windowOf(await state()).span > once.span, "S zooms out");
await press("w", "w", "w");
await page.waitForTimeout(450);
const before = windowOf(await state());
await press("d");
const moved = windowOf(await state());
assert.ok(moved.from > before.from && Math.abs(moved.span - before.span) < 1, "D pans");
await page.waitForTimeout(450);
await press("ArrowLeft");
assert.ok(windowOf(await state()).from < moved.from);
await press("Backspace");
assert.ok(Math.abs(windowOf(await state()).from - moved.from) < 2, "Backspace undoes");
await press("Control+0");
assert.equal(windowOf(await state()), null, "Ctrl+0 shows everything");
await page.mouse.move(...at(300, 60));
await page.keyboard.down("Control");
await page.mouse.wheel(0, -240);
await page.keyboard.up("Control");
await settle();
assert.ok(windowOf(await state()).span < 2e5, "Ctrl + wheel zooms in");
for (let i = 0; i < 40; i++) {
  await page.keyboard.press("w");
}
assert.ok(Math.abs(windowOf(await state()).span - 1) < 1e-6, "down to 1 ns");
await press("Control+0");

// --- selection, box, markers -------------------------------------------------------------------------------------------

const y0 = await middleOf("Stream 0");
const y2 = await middleOf("Stream 2");
await page.mouse.move(...at(400, y0));
await press("w", "w", "w", "w", "w", "w", "w");
await page.mouse.move(...at(401, y0));
await page.waitForSelector(".tl-tip .tl-tip-name");
assert.match(await page.locator(".tl-tip").innerText(), /kernel_\d+/);
await page.mouse.click(...at(401, y0));
await settle();
assert.match((await state()).sel, /^k0:\d+$/, "a click selects");
await shot("timeline-selected.png");
const first = (await state()).sel;
await press(".");
assert.equal(
  Number((await state()).sel.split(":")[1]),
  Number(first.split(":")[1]) + 1,
  "the next slice of the row",
);
await press(",");
assert.equal((await state()).sel, first);

// Escape in the search field leaves it, for N to go on; what is typed and what is selected stay.
await press("/");
await page.keyboard.type("kernel");
await press("Escape");
assert.equal(await page.evaluate(() => document.activeElement === document.body), true);
assert.equal(await page.locator(".search input").inputValue(), "kernel");
assert.equal((await state()).sel, first, "Escape in the field lets nothing go");
await press("/", "Delete", "Escape");
await until(async () => (await state()).q === undefined, "the search is forgotten");
await press("m");
assert.match((await state()).box, /\+504,k0:0$/, "M frames the slice");
await press("k");
assert.match((await state()).mark, /\+504\/0\/$/, "K marks the box");
await press("k");
assert.equal((await state()).mark, undefined, "and takes the mark away again");
await press("m");
assert.equal((await state()).box, undefined);
await page.mouse.move(...at(200, y0));
await page.mouse.down();
await page.mouse.move(...at(300, y2 - 8), { steps: 5 });
await page.mouse.up();
const framed = await state();
assert.match(framed.box, /,k0:0,k0:1,k0:2$/, "a box over three lanes");
await press("Shift+L");
assert.equal((await state()).lock, "1");
await page.mouse.move(...at(500, y0));
await page.mouse.down();
await page.mouse.move(...at(600, y2), { steps: 3 });
await page.mouse.up();
assert.equal((await state()).box, framed.box, "a locked box stays");
await press("Shift+L", "Shift+T");
assert.match((await state()).span, /^\d+\+\d+$/, "its span is analysed");
await shot("timeline-box.png");
await press("Shift+Z");
const zoomed = windowOf(await state());
const boxSpan = Number(framed.box.split(",")[0].split("+")[1]);
assert.ok(Math.abs(zoomed.span - boxSpan) < 2, "Shift+Z shows the box");
await press("Escape");
assert.equal((await state()).box, undefined);
await page.keyboard.down("Alt");
await page.mouse.move(...at(200, y0));
await page.mouse.down();
await page.mouse.move(...at(400, y0 + 30), { steps: 4 });
await page.mouse.up();
await page.keyboard.up("Alt");
const alt = await state();
assert.ok(
  windowOf(alt).span < zoomed.span && alt.box === undefined,
  "Alt + drag zooms and leaves no box",
);
await page.mouse.move(...at(300, y0 + 30));
await press("k");
assert.match((await state()).mark, /^\d+\/0\/$/, "K marks a point");
await page.mouse.click(plot.x + 500, plot.y - 8);
assert.equal((await state()).mark.split(",").length, 2, "a click in the strip marks");
await page.mouse.dblclick(plot.x + 502, plot.y - 8);
await page.locator("dialog input").first().fill("here");
await page.keyboard.press("Enter");
await settle();
assert.match((await state()).mark, /\/here/, "a double click names it");
const strip = () =>
  page.evaluate(() => {
    const { width, height } = document.querySelector(".tl-minimap");
    const picture = document.querySelector(".tl-minimap").getContext("2d");
    return picture.getImageData(0, 0, width, height).data.join();
  });
const stripBefore = await strip();
await page.mouse.dblclick(plot.x + 502, plot.y - 8);
assert.equal(await page.locator("dialog h2").innerText(), "Marker");
await page.locator("dialog .tl-swatches button").nth(5).click();
await page.keyboard.press("Enter");
await page.waitForSelector("dialog", { state: "detached" });
assert.match((await state()).mark, /\/5\/here/, "Enter is done after a colour, too");
assert.notEqual(await strip(), stripBefore, "and the strip on top has it");
await press("Control+0");

// --- lanes -------------------------------------------------------------------------------------------------------------

await row("Stream 1").hover();
await row("Stream 1").locator("button[aria-pressed]").click();
await settle();
assert.equal((await state()).pin, "k0|device/0/stream/1");
assert.equal(await page.locator(".tl-pins .tl-row").count(), 1);
await row("Stream 3").click({ button: "right" });
await page.getByRole("menuitem", { name: "Hide", exact: true }).click();
await settle();
assert.equal((await state()).hide, "k0|device/0/stream/3");
await page.mouse.move(...at(100, 200));
await page.mouse.wheel(0, 2000);
await settle();
await shot("timeline-lanes.png");
await page.locator(".tl-hidden button").click();
await settle();
assert.equal((await state()).hide, undefined);
await page.mouse.wheel(0, -4000);
await settle();
await row("Stream 2").click({ button: "right" });
await page.getByRole("menuitem", { name: "Unpin all" }).click();
await page.locator(".tl-row.tl-rank button.tl-twist").first().click();
await settle();
assert.equal((await state()).open, "-k0");
await page.locator(".tl-corner button[aria-label='Expand all lanes']").click();
await settle();
assert.ok((await page.locator(".tl-row").count()) > 5);

// --- lanes by keys: one Tab stop, arrows, into a lane, its pin, its menu and back ------------------------------------------

const focusOn = () => page.evaluate(() => document.activeElement?.dataset.id ?? null);
const onLane = async (id, why) => {
  await page
    .waitForFunction((of) => document.activeElement?.dataset.id === of, id)
    .catch(() => undefined);
  assert.equal(await focusOn(), id, why);
};
const tabStops = await page
  .locator(".tl-region:not(.tl-pins) *")
  .evaluateAll((all) => all.filter((e) => e.tabIndex >= 0).map((e) => e.className));
assert.deepEqual(tabStops.length, 1, `one stop of Tab: ${tabStops.join(", ")}`);
await row("Stream 1").focus();
await onLane("k0|device/0/stream/1", "a lane takes the focus");
await press("Enter");
await until(async () => (await state()).sel !== undefined, "Enter goes into the lane");
const firstOf = (await state()).sel;
await press(".");
await until(async () => (await state()).sel !== firstOf, "and keys go on from there");
await press("Escape", "ArrowDown");
await onLane("k0|device/0/stream/2", "down");
// Both before the focus has followed the first: the second one is for the row that it led to.
await page.evaluate(() => {
  const at = document.activeElement;
  for (const key of ["ArrowUp", "p"]) {
    at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }
});
await until(async () => (await state()).pin === "k0|device/0/stream/1", "P pins");
await onLane("k0|device/0/stream/1", "and the lane has the focus still");
await press("p", "Home");
await onLane("k0", "the first row");
await press("ArrowLeft");
await until(async () => /-k0/.test((await state()).open), "left closes");
await press("ArrowRight", "ArrowRight");
await until(async () => (await focusOn()) !== "k0", "right opens, then goes in");
await press("ArrowLeft", "ArrowLeft", "ArrowLeft");
await press("Home", "Shift+F10");
await page.locator("[role=menu]").waitFor();
await press("Escape");
await onLane("k0", "a menu gives the focus back");
// Faster than the focus follows: the menu is of the row that the key before led to.
await press("ArrowDown");
await page.evaluate(() => {
  const at = document.activeElement;
  at.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
  at.dispatchEvent(new MouseEvent("contextmenu", { button: 0, bubbles: true, cancelable: true }));
});
await page.locator("[role=menu]").waitFor();
await press("Escape");
await onLane("k0", "and so does one that was asked for at once");
await press("ArrowRight");

// --- lanes that something led to, when the page is left and opened again -------------------------------------------------------

await press("Control+k");
await page.keyboard.type("Stream 9");
await page.locator("[role=option]", { hasText: /rank 1.*Stream 9/ }).click();
await until(async () => Number((await state()).y) > 0, "the palette leads to a lane");
const ledTo = (await state()).y;
for (let i = 0; i < 2; i++) {
  await page.locator("nav").getByText("SQL", { exact: true }).click();
  await settle();
  await page.locator("nav").getByText("Timeline", { exact: true }).click();
  assert.equal((await state()).y, ledTo, "lanes stay where they are while another page is seen");
}
await page.mouse.move(...at(100, 200));
await page.mouse.wheel(0, -4000);
await settle();

// --- alignment ---------------------------------------------------------------------------------------------------------

await row("rank 0").click({ button: "right" });
await page.getByRole("menuitem", { name: "Time offset" }).click();
await page.locator("dialog input").fill("-1500");
await page.keyboard.press("Enter");
await settle();
assert.equal((await state()).off, "k0=-1500");
await row("rank 0").click({ button: "right" });
await page.getByRole("menuitem", { name: "Undo all offsets" }).click();
await settle();
assert.equal((await state()).off, undefined);

// --- pictures, address -------------------------------------------------------------------------------------------------

await page.mouse.move(...at(400, 80));
await press("w", "w", "w", "w");
const shared = await page.evaluate(() => location.href);
await page.waitForTimeout(350);
const kept = await state();
const other = await browser.newPage({
  viewport: { width: 1280, height: 720 },
  colorScheme: "dark",
});
other.on("pageerror", (error) => faults.push(error.message));
await other.goto(`${server.url}&${(await page.evaluate(() => location.hash)).slice(1)}`);
await other.waitForFunction(() => performance.getEntriesByName("first-lanes").length > 0);
await other.waitForTimeout(600);
const there = await other.evaluate(() =>
  Object.fromEntries(
    [...new URLSearchParams(location.hash.slice(1))]
      .filter(([k]) => k.startsWith("tl."))
      .map(([k, v]) => [k.slice(3), v]),
  ),
);
assert.deepEqual(there, kept, "the address shows another the same");
if (process.env.PIPESCOPE_SHOTS) {
  await other.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, "timeline-dark.png") });
}
assert.ok(shared.length < 4000);

// --- a rank that is being read -----------------------------------------------------------------------------------------

const slow = await serveSynthetic({ nRanks: 1, nLanes: 2, spanNs: 2 ** 20, isReading: true });
const early = await browser.newPage({ viewport: { width: 1280, height: 720 } });
early.on("pageerror", (error) => faults.push(error.message));
await early.goto(slow.url);
await early.waitForFunction(() => performance.getEntriesByName("first-outline").length > 0);
const namesNow = () => early.locator(".tl-tree .tl-name").allTextContents();
assert.deepEqual(await namesNow(), ["rank 0", "python 1", "Thread 1", "Thread 2"]);
/** Whether something is drawn in a row, at a share of the plot's width. */
const isDrawn = (name, share) =>
  early.evaluate(
    ([text, x]) => {
      const is = (label) => label.textContent === text;
      const label = [...document.querySelectorAll(".tl-tree .tl-name")].find(is);
      const canvas = document.querySelector(".tl-base");
      const at = canvas.getBoundingClientRect();
      const of = label.getBoundingClientRect();
      const scale = canvas.width / at.width;
      const y = ((of.top + of.bottom) / 2 - at.top) * scale;
      const pixel = (px) => canvas.getContext("2d").getImageData(px, y, 1, 1).data.join();
      return pixel(x * canvas.width) !== pixel(1);
    },
    [name, share],
  );
assert.deepEqual(
  await Promise.all([
    isDrawn("Thread 1", 0.25),
    isDrawn("Thread 1", 0.75),
    isDrawn("Thread 2", 0.25),
    isDrawn("Thread 2", 0.75),
  ]),
  [true, false, false, true],
  "half of each lane is busy, and the window is what is there so far",
);
slow.readFirst();
await early.waitForFunction(() => performance.getEntriesByName("first-lanes").length > 0);
await until(
  async () => (await namesNow()).includes("Stream 1"),
  "lanes in the place of the outline",
  namesNow,
);
assert.ok(!(await namesNow()).includes("Thread 1"));
slow.close();

await browser.close();
server.close();
assert.deepEqual(faults, []);
console.log("timeline: ok");
