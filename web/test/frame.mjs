// node frame.mjs CHROMIUM PIPESCOPE DIR: the frame and the tables in a browser, over a real server of the capture in DIR (one of
// `simulate 1f1b --pp 4 --microbatches 8 --profile DIR`). PIPESCOPE_SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { launchUnseen, PATIENCE_MS, until } from "./page.mjs";
import { atRest } from "./rest.mjs";

const [executablePath, program, capture] = process.argv.slice(2);
const TOKEN = "frame-test";
const faults = [];

function serve(folder) {
  const server = spawn(program, ["serve", folder, "--port", "0", "--token", TOKEN, "--quiet"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  return new Promise((done, fail) => {
    let text = "";
    server.stdout.on("data", (chunk) => {
      text += chunk;
      const found = /http:\/\/[^\s#]+/.exec(text);
      if (found !== null) {
        done({ server, base: found[0] });
      }
    });
    server.on("exit", (code) => fail(new Error(`the server ended with ${code}`)));
  });
}

const { server, base } = await serve(capture);
process.on("exit", () => server.kill());
process.on("uncaughtException", (error) => {
  console.error(error);
  process.exit(1); // and the server with it
});
const browser = await launchUnseen(executablePath);

async function context(options = {}) {
  const made = await browser.newContext({
    viewport: { width: 1280, height: 720 },
    acceptDownloads: true,
    locale: "en-US",
    ...options,
  });
  await made.grantPermissions(["clipboard-read", "clipboard-write"]);
  return made;
}

async function open(where, hash = "", withToken = true, from = base) {
  const page = await where.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => faults.push(`${hash}: ${error.message}`));
  page.on(
    "request",
    (request) =>
      request.url().startsWith(from) ||
      request.url().startsWith("blob:") ||
      request.url().startsWith("data:") ||
      faults.push(`asked for ${request.url()}`),
  );
  await page.goto(`${from}#${withToken ? `token=${TOKEN}&` : ""}${hash}`);
  return page;
}

const shot = async (page, name) => {
  if (process.env.PIPESCOPE_SHOTS) {
    await page.screenshot({ path: join(process.env.PIPESCOPE_SHOTS, name) });
  }
};
const texts = (page, selector) => page.locator(selector).allInnerTexts();
const rowsOf = (page, table) => page.locator(`${table} .grid-row`);
/** Cells of a column of the rows in sight, from the top. */
const column = (page, table, name) =>
  page.evaluate(
    ([inside, heading]) => {
      const box = document.querySelector(inside);
      const at = [...box.querySelectorAll(".grid-head > *")].findIndex(
        (h) => h.querySelector(".head-name")?.textContent === heading,
      );
      return [...box.querySelectorAll(".grid-row")]
        .sort(
          (a, b) =>
            Number(a.getAttribute("aria-rowindex")) - Number(b.getAttribute("aria-rowindex")),
        )
        .map((r) => r.children[at]?.textContent ?? "");
    },
    [table, name],
  );
const settled = (page, table) =>
  page.waitForFunction(
    (inside) => document.querySelector(`${inside} .grid`)?.getAttribute("aria-busy") === "false",
    table,
  );

/** What the page does a moment later. */
/** Every rank that is read. */
async function ready(page) {
  await page.waitForSelector(".tabs");
  await page.waitForFunction(() => {
    const said = document.querySelector(".chip")?.textContent ?? "";
    const counts = [...said.matchAll(/(\d+) of (\d+)/g)];
    return (
      (/\d/.test(said) && counts.every(([, ready, n]) => ready === n)) ||
      document.documentElement.lang === "zh-CN"
    );
  });
}

// --- no token, a wrong token ----------------------------------------------------------------------------------------

{
  const own = await context();
  const page = await open(own, "tab=memory", false);
  await page.waitForSelector(".gate .code");
  assert.match(await page.locator(".gate").innerText(), /#token=/, "says how to get the address");
  assert.match(await page.locator(".gate").innerText(), /ssh -L 8686/);
  await shot(page, "no-token.png");
  // The address with the token, given to the page that stands open.
  await page.evaluate((token) => {
    location.hash = `#token=${token}`;
  }, TOKEN);
  await ready(page);
  assert.ok(!page.url().includes(TOKEN), "the token leaves the address");
  await page.close();
  const wrong = await own.newPage();
  await wrong.goto(`${base}#token=wrong`);
  await wrong.waitForSelector(".gate .code");
  assert.match(await wrong.locator(".gate").innerText(), /does not take this token/);
  // Typed instead, alone or in its address.
  await wrong.locator(".gate input").fill(` ${base}/#token=${TOKEN}&tab=memory `);
  await wrong.keyboard.press("Enter");
  await ready(wrong);
  // A shared address has none: another tab of the same browser lends it, one that the server does not take does not.
  const shared = await open(own, "tab=memory", false);
  await ready(shared);
  assert.ok(!shared.url().includes(TOKEN));
  await own.close();
}

// --- tabs, look, language, help -------------------------------------------------------------------------------------

{
  const own = await context({ colorScheme: "dark" });
  const page = await open(own, "tab=operator");
  await ready(page);
  assert.deepEqual(await texts(page, "header [role=tab]"), [
    "Timeline",
    "Pipeline",
    "Summary",
    "Operator",
    "Calls",
    "Memory",
    "Communication",
    "What if",
    "SQL",
    "Compare",
  ]);
  // The first stop of Tab leads past the head: into the page, on the Timeline to its lanes.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.closest("main") !== null);
  await page.keyboard.press("1");
  await page.waitForFunction(() => document.activeElement?.closest("#page-timeline") !== null);
  await page.locator("#page-timeline [role=treeitem]").first().waitFor();
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.role === "treeitem");
  await page.keyboard.press("4");
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await ground(), "rgb(20, 24, 29)", "the look of the system at first");
  await page.keyboard.press("Shift+D");
  await until(async () => (await ground()) === "rgb(255, 255, 255)", "the other look by its key");
  await page.getByRole("button", { name: "Light or dark" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await until(async () => (await ground()) === "rgb(20, 24, 29)", "the look by the menu");

  await page.getByRole("button", { name: "English / 中文" }).click();
  await page.waitForFunction(() => document.documentElement.lang === "zh-CN");
  assert.deepEqual((await texts(page, "header [role=tab]")).slice(0, 2), ["时间线", "流水线"]);
  await page.reload();
  await page.waitForSelector(".tabs");
  assert.deepEqual(
    await page.evaluate(() => [
      document.documentElement.lang,
      document.documentElement.dataset.theme,
    ]),
    ["zh-CN", "dark"],
    "both are remembered",
  );
  await shot(page, "operator-dark-zh.png");
  await page.getByRole("button", { name: "中文 / English" }).click();

  // All pages, each by its key; the help lists the commands of all that were opened, and no key twice on a page.
  for (let i = 1; i <= 7; i++) {
    await page.keyboard.press(String(i));
    await page.waitForSelector(
      `.page-slot:not([hidden])#page-${["timeline", "pipeline", "summary", "operator", "calls", "memory", "communication"][i - 1]}`,
    );
  }
  await page.keyboard.press("4");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog .help");
  const listed = await page.evaluate(() =>
    [...document.querySelectorAll(".help section")].map((section) => ({
      group: section.dataset.group,
      keys: [...section.querySelectorAll("[data-command]")].flatMap((line) =>
        [...line.querySelectorAll(".keys")].flatMap((keys) => {
          const out = [[]];
          for (const node of keys.childNodes) {
            if (node.nodeName === "KBD") {
              out[out.length - 1].push(node.textContent);
            } else {
              out.push([]);
            }
          }
          return out
            .filter((k) => k.length > 0)
            .map((k) => `${k.join("+")} ${line.dataset.command}`);
        }),
      ),
    })),
  );
  const frame = listed.find((g) => g.group === "frame").keys;
  assert.ok(
    frame.includes("? frame.help") && frame.includes("Ctrl+K frame.palette"),
    String(frame),
  );
  for (const { group, keys } of listed.filter((g) => g.group !== "frame")) {
    const all = [...frame, ...keys].map((k) => k.split(" ")[0]);
    assert.deepEqual(
      all.filter((k, i) => all.indexOf(k) !== i),
      [],
      `a key twice on ${group}`,
    );
  }
  assert.ok(listed.find((g) => g.group === "timeline").keys.length >= 10, "keys of the timeline");
  await shot(page, "help.png");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await own.close();
}

// --- palette, settings, notes -----------------------------------------------------------------------------------------

{
  const own = await context();
  const page = await open(own, "tab=operator");
  await ready(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("page: mem");
  await page.keyboard.press("Enter");
  await until(
    async () =>
      (await page.locator("header [role=tab][aria-selected=true]").innerText()) === "Memory",
    "the palette opens the page",
  );
  await page.keyboard.press("Control+k");
  await page.keyboard.type("1ms..2ms");
  assert.match(
    await page.locator(".palette-item[aria-selected=true]").innerText(),
    /Show 1.00 ms to 2.00 ms/,
  );
  await page.keyboard.press("Enter");
  await until(
    async () =>
      (await page.locator("header [role=tab][aria-selected=true]").innerText()) === "Timeline",
    "the palette opens the page",
  );
  // What cannot be run now says why.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("set as base");
  await page.locator(".palette-item", { hasText: "select a slice first" }).waitFor();
  await page.keyboard.press("Enter");
  assert.equal((await page.locator("dialog .palette-item").count()) > 0, true, "and is not run");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("align its start");
  await page
    .locator(".palette-item[aria-disabled=true]", { hasText: "base slice, then" })
    .waitFor();
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("2");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Markers");
  await page.keyboard.press("Enter");
  await page.locator(".bottom-tabs [aria-selected=true]", { hasText: "Markers" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("stream");
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".palette-group")].some((g) => g.textContent === "lane"),
  );
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });

  await page.keyboard.press("Control+k");
  await page.waitForSelector("dialog .palette-item");
  await page.keyboard.type("settings");
  await until(
    async () =>
      /settings/i.test(await page.locator(".palette-item[aria-selected=true]").innerText()),
    "the palette finds the settings",
  );
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .colours");
  const computing = () =>
    page.evaluate(() =>
      getComputedStyle(document.documentElement).getPropertyValue("--computing").trim(),
    );
  const before = await computing();
  const pick = (name, colour) =>
    page.locator(`[id="colour-${name}"]`).evaluate((input, value) => {
      input.value = value;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, colour);
  await pick("lanes.0", "#f2994a");
  assert.equal(await computing(), "#f2994a");
  assert.match(
    await page.locator("dialog").innerText(),
    /“Computing” and “Communication” are hard to tell apart/,
  );
  await page.reload();
  await ready(page);
  assert.equal(await computing(), "#f2994a", "remembered");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("settings");
  await page.keyboard.press("Enter");
  await shot(page, "settings.png");
  await page.getByRole("button", { name: "All colours as they were" }).click();
  await until(async () => (await computing()) === before, "the colours are as they were");
  await page.keyboard.press("Escape");

  await page.locator(".bell").click();
  await until(
    async () =>
      /Missing in the capture, and how to collect it/.test(
        await page.locator("dialog").innerText(),
      ),
    "what is missing",
  );
  await shot(page, "notes.png");
  await page.keyboard.press("Escape");
  await page.locator(".chip").click();
  await rowsOf(page, "dialog").first().click();
  await until(
    async () => /In memory: /.test(await page.locator("dialog").innerText()),
    "what a rank takes",
  );
  await own.close();
}

// --- a table: order, filter, columns, copy, files, jump -----------------------------------------------------------------

{
  const own = await context();
  const page = await open(own, "tab=operator"); // this capture has no kernels: it begins with communication
  await ready(page);
  const details = "#page-operator .card.flush:last-child";
  await page.waitForSelector(`${details} .grid-row`);
  const starts = async () => (await column(page, details, "Start")).map(Number);
  await page.locator(`${details} .head`, { hasText: "Start" }).locator("button").click();
  await until(async () => {
    const shown = await starts();
    return shown.length > 3 && shown.every((v, i) => i === 0 || v <= shown[i - 1]);
  }, "largest first");
  await page.locator(`${details} .head`, { hasText: "Start" }).locator("button").click();
  await until(async () => {
    const shown = await starts();
    return shown.length > 3 && shown.every((v, i) => i === 0 || v >= shown[i - 1]);
  }, "then least first");

  await page.locator(details).getByRole("button", { name: "Filter columns" }).click();
  const names = await column(page, details, "Name");
  const wanted = names[0].slice(0, 6).toUpperCase();
  // What is typed while the letters before it take effect stays: the next one comes right behind the breath.
  const kept = await page
    .getByRole("textbox", { name: "Filter of Name" })
    .last()
    .evaluate(async (field, text) => {
      const type = (value) => {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, value);
        field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      };
      type(text.slice(0, 3));
      await new Promise((done) => setTimeout(done, 250));
      type(text.slice(0, 4));
      await new Promise((done) => setTimeout(done, 150));
      return field.value;
    }, wanted);
  assert.equal(kept, wanted.slice(0, 4));
  await page.getByRole("textbox", { name: "Filter of Name" }).last().fill(wanted);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    (inside) => /pass the filter/.test(document.querySelector(inside).textContent),
    details,
  );
  await until(
    async () =>
      (await column(page, details, "Name")).every((n) => n.toUpperCase().includes(wanted)),
    "only names that pass the filter",
  );
  // The address knows it, also on a page that is opened anew; back and forth between pages.
  await page.waitForFunction(
    (text) => decodeURIComponent(location.hash).includes(`"name":"${text}"`),
    wanted,
  );
  const address = page.url();
  assert.ok(!address.includes(TOKEN));
  const again = await open(own, `${new URL(address).hash.slice(1)}`);
  await again.waitForSelector(`${details} .grid-row`);
  await until(
    async () =>
      (await again.getByRole("textbox", { name: "Filter of Name" }).last().inputValue()) === wanted,
    "the address brings the filter",
  );
  await again.close();
  await page.locator("header [role=tab]", { hasText: "Memory" }).click();
  await page.locator("header [role=tab]", { hasText: "Communication" }).click();
  await page.goBack();
  await page.waitForSelector("header [role=tab][aria-selected=true]:has-text('Memory')");
  await page.goBack();
  await page.waitForSelector("header [role=tab][aria-selected=true]:has-text('Operator')");
  await until(
    async () =>
      (await page.getByRole("textbox", { name: "Filter of Name" }).last().inputValue()) === wanted,
    "the filter is still there",
  );

  // A filter that nothing passes, and one that is not understood.
  await page.getByRole("textbox", { name: "Filter of Duration" }).last().fill("> 1e9 s");
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    (inside) => /No row passes the filter/.test(document.querySelector(inside).textContent),
    details,
  );
  await page.getByRole("textbox", { name: "Filter of Duration" }).last().fill("long");
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    (inside) => document.querySelector(`${inside} input[aria-invalid=true]`) !== null,
    details,
  );
  await page.locator(details).getByRole("button", { name: "Order and filter as at first" }).click();
  await settled(page, details);

  // By keys what the pointer would say: exact values of a row by their columns, the hint of a field; it goes with the next key.
  const grid = page.locator(`${details} [role=grid]`);
  await grid.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+F1");
  const cells = await grid
    .locator(".grid-row.focus [role=gridcell][title]")
    .evaluateAll((all) => all.map((cell) => cell.title));
  const said = (await page.locator(".focus-tip").innerText()).split("\n");
  assert.deepEqual(
    said.map((line) => line.split("\t")[1]),
    cells,
  );
  assert.ok(
    said.some((line) => /^Duration\t[\d\u2009]+ ns$/.test(line)),
    said.join("\n"),
  );
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector(".focus-tip", { state: "detached" });
  await page.getByRole("textbox", { name: "Filter of Duration" }).last().focus();
  await page.keyboard.press("Shift+F1");
  assert.match(await page.locator(".focus-tip").innerText(), /a\.\.b|range|>/i);
  await shot(page, "focus_hint.png");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".focus-tip", { state: "detached" });

  // Files: csv from the button of the table, JSON from the menu of the frame.
  const saved = async (click) => {
    const [download] = await Promise.all([page.waitForEvent("download"), click()]);
    return {
      name: download.suggestedFilename(),
      text: readFileSync(await download.path(), "utf8"),
    };
  };
  await page.locator(details).getByRole("button", { name: "Save the table" }).click();
  const csv = await saved(() =>
    page.locator(".menu-box").getByRole("button", { name: "CSV" }).click(),
  );
  assert.match(csv.name, /\.csv$/);
  const lines = csv.text.trim().split(/\r?\n/);
  const total = Number(
    (await page.locator(`${details} .table-title`).innerText())
      .replace(/\u2009/g, "")
      .match(/(\d+) rows/)[1],
  );
  assert.equal(lines.length, total + 1, "every row, not only those in sight");
  assert.match(lines[0], /name.*start.*duration/);
  await page.getByRole("button", { name: "Save a picture or a table" }).click();
  await shot(page, "export.png");
  const json = await saved(() =>
    page
      .locator(".menu-line", { hasText: "Communication operators, each" })
      .getByRole("button", { name: "JSON" })
      .click(),
  );
  assert.equal(JSON.parse(json.text).length, total);
  // The keyboard: rows, copying, and on to the timeline.
  await page.locator(`${details} .grid`).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+ArrowDown");
  await until(
    async () => (await page.locator(`${details} .grid-row[aria-selected=true]`).count()) === 2,
    "two rows are selected",
  );
  await page.keyboard.press("Control+c");
  await page.waitForSelector(".toast");
  assert.match(await page.locator(".toast").first().innerText(), /Copied 2 rows/);
  assert.equal((await page.evaluate(() => navigator.clipboard.readText())).split("\n").length, 3);
  await page.locator(details).getByRole("button", { name: "Columns", exact: true }).click();
  await page.locator(".menu-box label", { hasText: /^Group$/ }).click();
  await page.keyboard.press("Escape");
  await until(
    async () => (await page.locator(`${details} .head-name`, { hasText: /^Group$/ }).count()) === 0,
    "the column is gone",
  );
  await page.locator(`${details} .grid`).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    () =>
      document.querySelector("header [role=tab][aria-selected=true]").textContent === "Timeline",
  );
  await own.close();
}

/** What does not fit: the window, a page that scrolls sideways, a tab that is cut where the window is not narrow (there the tabs scroll).
 * Tables of many columns scroll by themselves. */
function sideways() {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth || root.scrollHeight > innerHeight) {
    found.push(`the window: ${root.scrollWidth} x ${root.scrollHeight}`);
  }
  for (const e of document.querySelectorAll(
    `.page-slot:not([hidden]) *${innerWidth > 960 ? ", header .tabs" : ""}`,
  )) {
    const scrolls = /auto|scroll/.test(getComputedStyle(e).overflowX);
    if (scrolls && !e.classList.contains("grid") && e.scrollWidth > e.clientWidth + 1) {
      found.push(`${e.tagName}.${e.className}: ${e.scrollWidth} in ${e.clientWidth}`);
    }
  }
  return found;
}

// --- the other pages, light and dark, both languages: they are there, and fit ------------------------------------------------

for (const [look, locale] of [
  ["light", "en-US"],
  ["dark", "zh-CN"],
]) {
  const own = await context({ colorScheme: look, locale });
  const page = await open(own, "tab=summary");
  // This capture has marks and no kernels: no chart of nothing, but why there is none.
  await page.waitForSelector("#page-summary .empty-title");
  await until(
    async () => (await rowsOf(page, "#page-summary").count()) > 0,
    "the summary has rows",
  );
  if (locale === "en-US") {
    const pp = page.getByRole("spinbutton", { name: "PP", exact: true });
    await until(async () => (await pp.inputValue()) === "4", "the sizes that the profile carries");
    await pp.fill("2");
    const form = () => page.locator("#page-summary form").innerText();
    await until(
      async () => /must be at least the 4 ranks/.test(await form()),
      "too few ranks are refused",
    );
    await until(
      () => page.getByRole("button", { name: "Generate" }).isDisabled(),
      "and not asked for",
    );
    await pp.fill("8");
    await until(
      async () => /does not divide the 4 ranks of the job/.test(await form()),
      "so are sizes that are not those of the job",
    );
    await pp.fill("2");
    const algorithm = page.getByRole("combobox", { name: "Ranks numbered as in" });
    await algorithm.selectOption("vllm");
    await page.getByRole("spinbutton", { name: "TP", exact: true }).fill("2");
    await until(
      async () => !(await page.getByRole("button", { name: "Generate" }).isDisabled()),
      "without experts nothing is asked of them: the server says what is wrong, and nobody else",
    );
    await page.getByRole("spinbutton", { name: "TP", exact: true }).fill("1");
    await algorithm.selectOption("megatron");
    const dp = page.getByRole("spinbutton", { name: "DP", exact: true });
    await dp.fill("2");
    await until(
      async () => !(await page.getByRole("button", { name: "Generate" }).isDisabled()),
      "sizes that make the job",
    );
    await page.getByRole("button", { name: "Generate" }).click();
    await until(
      async () => /not what the profile says: PP 4 → 2/.test(await form()),
      "other sizes are said",
    );
    await pp.fill("4");
    await dp.fill("1");
    await page.getByRole("button", { name: "Generate" }).click();
    await page.waitForFunction(() => location.hash.includes("sum.setup"));
    await page
      .getByRole("group", { name: "Fold" })
      .getByRole("button", { name: "into stages" })
      .click();
    await page.waitForSelector("#page-summary canvas[aria-label='Largest of each group']");
  }
  await shot(page, `summary-${look}.png`);
  if (locale === "en-US") {
    for (const kind of ["SVG", "PNG"]) {
      await page.getByRole("button", { name: "Save a picture or a table" }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page
          .locator(".menu-line", { hasText: "Largest of each group" })
          .getByRole("button", { name: kind })
          .click(),
      ]);
      const bytes = readFileSync(await download.path());
      assert.ok(
        kind === "SVG"
          ? /^<svg [^>]*xmlns/.test(bytes.toString())
          : bytes.subarray(1, 4).toString() === "PNG",
        kind,
      );
    }
  }
  const pages = await page
    .locator("header [role=tab]")
    .evaluateAll((all) => all.map((tab) => tab.id.replace("tab-", "")));
  for (const name of [...pages.filter((p) => p !== "timeline"), "timeline"]) {
    await page.locator(`#tab-${name}`).click();
    await atRest(page);
    await shot(page, `${name}-${look}.png`);
    for (const [width, height] of [
      [900, 700],
      [1024, 700],
      [1920, 1080],
      [3840, 2000],
      [1280, 720],
    ]) {
      await page.setViewportSize({ width, height });
      await page.waitForFunction(
        (wanted) => innerWidth === wanted && document.documentElement.clientWidth === wanted,
        width,
      );
      await atRest(page);
      await until(
        async () => (await page.evaluate(sideways)).length === 0,
        `${name} fits into ${width} pixels`,
        async () => (await page.evaluate(sideways)).join("; "),
      );
      assert.ok(await page.locator("header .opened").isVisible(), `the capture at ${width} pixels`);
      const cut_px = await page.evaluate(() => {
        const tabs = document.querySelector("header .tabs");
        return tabs.scrollWidth - tabs.clientWidth;
      });
      assert.ok(cut_px <= 1, `all pages are in sight at ${width} pixels: ${cut_px} are cut`);
      const [pages, shown] = await Promise.all(
        ["header .tabs", `#tab-${name}`].map((of) => page.locator(of).boundingBox()),
      );
      assert.ok(
        shown.x >= pages.x - 1 && shown.x + shown.width <= pages.x + pages.width + 1,
        `the tab ${name} is in sight at ${width} pixels`,
      );
    }
    assert.equal(
      await page
        .locator(`#page-${name}`)
        .innerText()
        .then((text) => /stopped working|出错/.test(text)),
      false,
      name,
    );
  }
  // A simulated capture has no matrix: the page opens with durations, and Matrix says what would write it.
  await page.locator("#tab-communication").click();
  await page.waitForFunction(
    () =>
      document
        .querySelectorAll("#page-communication .group button")[1]
        .getAttribute("aria-pressed") === "true",
  );
  await page.locator("#page-communication .group button").nth(0).click();
  await page.waitForFunction(() =>
    /level ?1/.test(document.querySelector("#page-communication").textContent),
  );
  await page.locator("#page-communication .group button").nth(2).click();
  await page.waitForSelector("#page-communication .findings", { state: "attached" });
  await shot(page, `advice-${look}.png`);
  await own.close();
}

// --- saved views: kept, handed on to somebody who has the same data elsewhere ----------------------------------------------

{
  const own = await context();
  const page = await open(own, "tab=timeline");
  await ready(page);
  await page.locator(".tl-row.tl-rank").nth(2).hover();
  await page.locator(".tl-row.tl-rank").nth(2).getByRole("button", { name: "Pin on top" }).click();
  await page.waitForSelector(".tl-pins .tl-row");
  const pinned = await page.locator(".tl-pins .tl-row .tl-name").first().innerText();
  await page.keyboard.press("v");
  const dialog = page.getByRole("dialog", { name: "Saved views" });
  assert.match(await dialog.innerText(), /No view is saved/);
  await dialog.getByRole("textbox", { name: "Name" }).fill("third stage");
  await dialog.getByRole("textbox", { name: "Note" }).fill("waits for the second");
  await page.keyboard.press("Enter");
  await dialog.locator("li").waitFor();
  await shot(page, "views.png");
  await dialog.getByRole("button", { name: "Copy the address" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(
    copied.startsWith(base) && copied.includes("tab=timeline") && !copied.includes(TOKEN),
    copied,
  );
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Save all as a file" }).click(),
  ]);
  const file = readFileSync(await download.path(), "utf8");
  assert.ok(!file.includes(TOKEN), "the token stays here");
  // Another page of the same browser has it, and goes there.
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.locator("#tab-memory").click();
  await page.reload();
  await ready(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Commands" }).fill("waits for");
  await until(
    async () =>
      /third stage/.test(await page.locator(".palette-item[aria-selected=true]").innerText()),
    "the palette finds a view by its note",
  );
  await page.keyboard.press("Enter");
  await until(
    async () => (await page.locator(".tl-pins .tl-row .tl-name").allInnerTexts())[0] === pinned,
    "the view has its pins",
  );
  await page.goBack();
  await page.waitForFunction(() => location.hash.includes("tab=memory"));
  await page.keyboard.press("v");
  await dialog.getByRole("button", { name: "Delete: third stage" }).click();
  await until(async () => (await dialog.locator("li").count()) === 0, "the view is deleted");
  await own.close();

  const copy = `${capture}-elsewhere`;
  cpSync(capture, copy, { recursive: true });
  const other = await serve(copy);
  process.on("exit", () => other.server.kill());
  const theirs = await context();
  const there = await open(theirs, "tab=summary", true, other.base);
  await ready(there);
  // Dropped anywhere on the page.
  const dropped = await there.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "views.json"));
    return data;
  }, file);
  await there.dispatchEvent("body", "drop", { dataTransfer: dropped });
  await there.waitForFunction(() => /Views added: 1/.test(document.body.innerText));
  await there.keyboard.press("v");
  const listed = there.getByRole("dialog", { name: "Saved views" });
  assert.equal(
    await listed.getByRole("textbox", { name: "Note" }).last().inputValue(),
    "waits for the second",
  );
  await listed.getByRole("button", { name: "Open: third stage" }).click();
  await until(
    async () => (await there.locator(".tl-pins .tl-row .tl-name").allInnerTexts())[0] === pinned,
    "the same place in a copy that lies elsewhere",
  );
  // Files that are dropped together are sent, and each is a capture of its own beside the others, as each path of the command line is.
  const trace = await there.evaluateHandle(() => {
    const data = new DataTransfer();
    const events = [{ ph: "X", name: "f", pid: 1, tid: 1, ts: 1, dur: 5 }];
    const json = JSON.stringify({ traceEvents: events });
    data.items.add(new File([json], "dropped.json"));
    data.items.add(new File([json], "another.json"));
    return data;
  });
  await there.dispatchEvent("body", "drop", { dataTransfer: trace });
  await there.waitForFunction(() => /2 files: each is a capture/.test(document.body.innerText));
  // What is said goes after a while, and may have gone before all are read.
  await there.waitForFunction(() => /another\.json is open/.test(document.body.innerText));
  await there.waitForFunction(() =>
    /^6 of 6 ranks/.test(document.querySelector(".chip").textContent),
  );
  // No file of views is said to be none.
  await there.keyboard.press("v");
  await listed.locator("input[type=file]").setInputFiles({
    name: "other.json",
    mimeType: "application/json",
    buffer: Buffer.from("{}"),
  });
  await there.waitForFunction(() =>
    /other\.json is no file of saved views/.test(document.body.innerText),
  );
  // As it is said of files that are chosen, before and after.
  await there.locator(".chip").dispatchEvent("click");
  const another = there.locator("details.open-another");
  await another.locator("summary").click();
  assert.match(await another.innerText(), /Each file is a capture of its own/);
  const event = { ph: "X", name: "f", pid: 1, tid: 1, ts: 1, dur: 5 };
  const buffer = Buffer.from(JSON.stringify({ traceEvents: [event] }));
  const mimeType = "application/json";
  await another
    .locator("input[type=file]")
    .setInputFiles(["c", "d", "e"].map((name) => ({ name: `${name}.json`, mimeType, buffer })));
  await there.waitForFunction(() => /3 files: each is a capture/.test(document.body.innerText));
  await theirs.close();
  other.server.removeAllListeners("exit");
  other.server.kill();
}

// --- the server goes away -----------------------------------------------------------------------------------------------

{
  const own = await context();
  const page = await open(own, "tab=operator");
  await ready(page);
  server.removeAllListeners("exit");
  server.kill("SIGINT");
  await page.waitForFunction(
    () => /No connection to the server/.test(document.querySelector(".status")?.textContent ?? ""),
    null,
    { timeout: 30_000 },
  );
  await own.close();
}

await browser.close();
assert.deepEqual(faults, []);
console.log("frame: all well");
