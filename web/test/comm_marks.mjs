// node comm_marks.mjs CHROMIUM URL: what the pages show of tests/data/comm_marks, whose figures are worked out in its make.sh.
import assert from "node:assert/strict";
import { launchUnseen, Viewer } from "./page.mjs";

const [executablePath, url] = process.argv.slice(2);
const browser = await launchUnseen(executablePath);
const v = await Viewer.open(browser, url);
const { page } = v;
page.setDefaultTimeout(60_000);
const cells = async (card) =>
  (await v.rows(card)).slice(1).map((row) => row.replace(/[\s\u2009]+/g, " ").trim());
const card = (title) => `.card:has-text("${title}")`;

// Communication opens with durations, since there is no matrix, and says whose times these are.
await v.tab("Communication");
await page.getByText("Operators come from communication marks, times of the host").waitFor();
await page.getByText("Operators in time").waitFor();
const times = await cells(card("Communication time by rank"));
assert.match(times[0], /^0 380\b/, "30 + 350");
assert.match(times[1], /^1 240\b/, "220 + 20");
assert.ok(
  times.every((row) => !/100\.0/.test(row)),
  "what is not known is no share",
);
await v.shot("comm-durations");
await page.getByRole("button", { name: "Advice" }).click();
const late = await cells(card("How late ranks came"));
assert.match(late[0], /^1 grad pp_grad p2p 1 1 330 330 330 0\b/, "580 - 250");
assert.match(late[1], /^0 act pp p2p 1 1 190 190 190 0\b/, "200 - 10");

// Computing, communication, what of it nothing hides, and free time.
await v.tab("Summary");
await page.getByText("from marks, times of the host").waitFor();
const steps = await cells(card("Time of steps by rank and stage"));
assert.match(steps[0], /^0 . 0 . 1\.00 500 380 500 0 380 20\.0\b/);
assert.match(steps[1], /^1 . 1 . 1\.00 350 240 350 0 240 0\b/);
await v.shot("comm-summary");

// The send and its receive lead to one another.
await v.tab("Timeline");
await v.find("hcom_receive__318_0_1");
const receive = await v.selected();
assert.equal(receive.dur, 350_000);
await v.below("Slice Detail");
await page.locator(".bottom-body").getByText("hcom_send__318_0_1").waitFor();
assert.match(
  await page.locator(".bottom-body").innerText(),
  /In other ranks\s+hcom_send__318_0_1\s+sends\s.\s20\.0\s..\s.\srank 1/,
);
await v.shot("comm-arrow");

assert.deepEqual(v.faults, []); // a capture has no matrix: said by status
await browser.close();
console.log("communication from marks: as worked out by hand");
