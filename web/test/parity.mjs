// node parity.mjs CHROMIUM URL KIND: the parity list, 66 items that people do in other viewers, in a browser on one capture. URL is what
// `pipescope serve` prints. Which items hold for which kind of capture, and why not, docs/parity.md says, and this compares: KIND is a column of its
// table ("-": of none). PIPESCOPE_ITEM=TEXT runs only items that contain it, PIPESCOPE_SHOTS=DIR keeps pictures of those that fail;
// PIPESCOPE_PARITY=update writes the column anew.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { browser, Skip, v } from "./parity_stage.mjs";
import { PAGES } from "./parity_others.mjs";
import { TIMELINE } from "./parity_timeline.mjs";
import { spent } from "./spent.mjs";

const kind = process.argv[4] ?? "-";
const ITEMS = Object.entries({ ...TIMELINE, ...PAGES });
assert.deepEqual(
  [...new Set(ITEMS.map(([name]) => parseInt(name)))].sort((a, b) => a - b),
  Array.from({ length: 66 }, (_, i) => i + 1),
  "all items of the list",
);

// --- the table -------------------------------------------------------------------------------------------------------------

const PAGE = new URL("../../docs/parity.md", import.meta.url);
let lines = readFileSync(PAGE, "utf8").split("\n");
const cells = (line) =>
  line
    .split("|")
    .slice(1, -1)
    .map((c) => c.trim());
const head = lines.findIndex((l) => l.startsWith("| item |"));
const column = cells(lines[head] ?? "").indexOf(kind);
assert.ok(column > 0 || kind === "-", `docs/parity.md has no column ${kind}`);
const rowOf = (name) => lines.findIndex((l) => l.startsWith(`| ${name} |`));

const said = new Map();
function compare(name) {
  const at = rowOf(name);
  if (process.env.PIPESCOPE_PARITY !== "update" && kind !== "-") {
    assert.ok(at >= 0, `docs/parity.md has no ${name}`);
    assert.equal(said.get(name), cells(lines[at])[column], `docs/parity.md of ${kind}`);
  }
}

function update() {
  lines = readFileSync(PAGE, "utf8").split("\n"); // others may have written theirs meanwhile
  const width = cells(lines[head]).length;
  const listed = ITEMS.toSorted(([a], [b]) => parseInt(a) - parseInt(b));
  const rows = listed.map(([name]) => {
    const at = rowOf(name);
    const row = at >= 0 ? cells(lines[at]) : [name, ...Array(width - 1).fill("")];
    row[column] = said.get(name) ?? row[column];
    return `| ${row.join(" | ")} |`;
  });
  const end = lines.findIndex((l, i) => i > head && !l.startsWith("|"));
  lines.splice(head + 2, end - head - 2, ...rows);
  writeFileSync(PAGE, lines.join("\n"));
}

// --- the items -------------------------------------------------------------------------------------------------------------

spent("the first page");
let failed = 0;
const only = process.env.PIPESCOPE_ITEM;
for (const [name, run] of ITEMS) {
  if (only !== undefined && !name.includes(only)) {
    continue;
  }
  try {
    said.set(name, "yes");
    await run().catch((error) => {
      if (!(error instanceof Skip)) {
        throw error;
      }
      said.set(name, error.message);
    });
    assert.deepEqual(v.faults, [], "nothing went wrong in the page");
    compare(name);
    console.log(`ok ${kind} ${name}${said.get(name) === "yes" ? "" : ` # ${said.get(name)}`}`);
  } catch (error) {
    failed++;
    await v.shot(`parity-${kind}-${parseInt(name)}`);
    console.log(
      `not ok ${kind} ${name}\n${String(error.stack).split("\n").slice(0, 9).join("\n")}\n${v.faults.join("\n")}`,
    );
    v.faults.length = 0;
    said.delete(name);
    await v.goto();
  }
  spent(name);
}
if (process.env.PIPESCOPE_PARITY === "update") {
  update();
}
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
