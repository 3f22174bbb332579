// node parity_flows.mjs CHROMIUM URL TRUTH: every kind of flow of a capture ends on the slices that its files say. URL is what
// `pipescope serve PATH` prints, TRUTH what tests/e2e/lib/flow_truth.py PATH does. All flows are compared by their times, a few dozen
// of each kind by name and links, one of each kind with clicks, and all of a kind as the Flows menu draws them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { launchUnseen, shownName } from "./page.mjs";
import { Stage } from "./parity_page.mjs";

const [executablePath, url, truthFile] = process.argv.slice(2);
const truth = JSON.parse(readFileSync(truthFile, "utf8")).flows;
const browser = await launchUnseen(executablePath);
const v = await Stage.open(browser, url);

/** Of each kind so many are looked at closely. */
const CLOSELY = 36;
/** Collectives whose members start so near to each other (ns) may be told either way: clocks are brought together first. */
const NEAR_NS = 100_000n;
const ACROSS = ["send-recv", "collective"];

const byNumber = new Map(v.ranks.map((r) => [r.rank, r]));
const idOf = (rank, at, toRank, toAt) => `${rank}@${at} -> ${toRank}@${toAt}`;
const spread = (all, n) =>
  all.length <= n
    ? all
    : Array.from({ length: n }, (_, i) => all[Math.floor((i * all.length) / n)]);

/** Flows of a kind as the server tells them, over all ranks: [slice, slice] with their absolute starts. */
async function toldOf(kind) {
  const found = [];
  let unmatched = 0;
  for (const rank of v.ranks) {
    const reply = await v.api("flows/window", { rank: rank.key, kind, limit: 20000 });
    assert.equal(reply.flows.length, reply.total, "all of them");
    unmatched += reply.unmatched ?? 0;
    for (const [from, to, fromLane, fromRow, fromNs, toLane, toRow, toNs, other] of reply.flows) {
      const source = other === undefined ? rank : v.rank(other);
      found.push({
        from: {
          rank: source.key,
          slice: from,
          lane: fromLane,
          row: fromRow,
          at: v.absolute(source.key, fromNs),
        },
        to: { rank: rank.key, slice: to, lane: toLane, row: toRow, at: v.absolute(rank.key, toNs) },
      });
    }
  }
  return { found, unmatched };
}

const keyOf = (f) => idOf(v.rank(f.from.rank).rank, f.from.at, v.rank(f.to.rank).rank, f.to.at);
const trueKey = (f) => idOf(f.from.rank, f.from.at, f.to.rank, f.to.at);
const turned = (f) => ({ ...f, from: f.to, to: f.from });

/** As the file tells them; of collectives the near ones either way. */
function compare(kind, told, expected) {
  const open = new Map();
  expected.forEach((f) => open.set(trueKey(f), [...(open.get(trueKey(f)) ?? []), f]));
  const take = (key) => {
    const there = open.get(key);
    const one = there?.shift();
    if (there?.length === 0) {
      open.delete(key);
    }
    return one;
  };
  const pairs = [];
  for (const f of told) {
    let one = take(keyOf(f));
    if (one === undefined && kind === "collective") {
      const distance = f.from.at > f.to.at ? f.from.at - f.to.at : f.to.at - f.from.at;
      one = distance < NEAR_NS ? take(keyOf(turned(f))) : undefined;
      one = one === undefined ? undefined : turned(one);
    }
    assert.ok(one !== undefined, `${kind}: the file has no ${keyOf(f)}`);
    pairs.push([f, one]);
  }
  assert.deepEqual([...open.keys()], [], `${kind}: told of all`);
  return pairs;
}

/** Where the file leaves open which collective is which, no pair may be impossible: members of one overlap, each in one pair. */
async function checkPossible(kind, told) {
  const seen = new Set();
  for (const f of told) {
    const [a, b] = await Promise.all(
      [f.from, f.to].map((e) => v.api("slice", { rank: e.rank, slice: e.slice })),
    );
    assert.equal(a.name, b.name, kind);
    assert.ok(
      f.from.at < f.to.at + BigInt(b.dur) && f.to.at < f.from.at + BigInt(a.dur),
      `${kind}: ${keyOf(f)} overlap`,
    );
    for (const e of [f.from, f.to]) {
      assert.ok(!seen.has(`${e.rank}:${e.slice}`), "once");
      seen.add(`${e.rank}:${e.slice}`);
    }
  }
}

/** Names of both ends, and that the server links them to each other. */
async function checkClosely(kind, [f, one]) {
  const source = await v.api("slice", { rank: f.from.rank, slice: f.from.slice });
  const target = await v.api("slice", { rank: f.to.rank, slice: f.to.slice });
  assert.ok(
    one.from.names.includes(source.name),
    `${kind} ${keyOf(f)} starts at ${source.name}, not ${one.from.names}`,
  );
  assert.ok(
    one.to.names.includes(target.name),
    `${kind} ${keyOf(f)} ends at ${target.name}, not ${one.to.names}`,
  );
  const { flows } = await v.api("flows/of", { rank: f.to.rank, slice: f.to.slice });
  assert.ok(
    flows.some(
      (g) =>
        g.kind === kind &&
        g.from.slice === f.from.slice &&
        g.from.rank === f.from.rank &&
        g.to.slice === f.to.slice,
    ),
    `${kind}: flows of ${target.name}`,
  );
  if (!ACROSS.includes(kind)) {
    assert.ok(
      target.links.some(
        (l) => l.kind === kind && l.direction === "from" && l.ref.slice === source.slice,
      ),
      `${kind}: a link of ${target.name}`,
    );
    assert.ok(
      source.links.some(
        (l) => l.kind === kind && l.direction === "to" && l.ref.slice === target.slice,
      ),
      `${kind}: a link of ${source.name}`,
    );
  }
  return [source, target];
}

/** Clicks the end of a flow: Slice Detail leads to its start and back, and the arrow is drawn from the one to the other. */
async function checkWithClicks(kind, source, target) {
  await v.click(target);
  const detail = (text) => v.page.locator(".detail .ref", { hasText: text });
  const shown = detail(shownName(source.name));
  await shown.first().waitFor();
  const isSource = (said) => said.sel === `${source.rank}:${source.slice}`;
  const n = await shown.count();
  for (let i = 0; i < n; i++) {
    await shown.nth(i).click();
    await v.says(
      (said) => said.sel !== undefined && said.sel !== `${target.rank}:${target.slice}`,
      "a link was followed",
    );
    if (isSource(await v.said())) {
      break;
    }
    await v.click(target);
    await shown.first().waitFor();
  }
  await v.says(isSource, `${kind}: Slice Detail leads from ${target.name} to ${source.name}`);

  // Both ends in sight: the arrow goes from where the one leaves off to where the other begins.
  const [a, b] = [v.absolute(source.rank, source.start), v.absolute(target.rank, target.start)];
  const leaves = b < a ? a : b > a + BigInt(source.dur) ? a + BigInt(source.dur) : b;
  const [first, last] = [a < b ? a : b, a < b ? b : a];
  const room = (last - first) / 5n + 1000n;
  await v.stageOf([source, target], first - room, last + room, {
    sel: `${target.rank}:${target.slice}`,
  });
  await v.drawn(await v.ends(source, leaves), await v.ends(target, b), kind);
}

/** Ticks a kind in the menu: its arrows are drawn from start to start. */
async function checkByKind(kind, source, target) {
  const [a, b] = [v.absolute(source.rank, source.start), v.absolute(target.rank, target.start)];
  const [first, last] = [a < b ? a : b, a < b ? b : a];
  const room = (last - first) / 5n + 1000n;
  await v.stageOf([source, target], first - room, last + room);
  await v.page.locator(".tools button[aria-label='Flows']").click();
  await v.page
    .locator(".menu-box .choice")
    .filter({ has: v.page.getByText(kind, { exact: true }) })
    .locator("input[type=checkbox]")
    .check();
  await v.page.keyboard.press("Escape");
  await v.says((said) => said.flows === kind, "the kind is chosen");
  await v.drawn(await v.ends(source, a), await v.ends(target, b), `${kind} by kind`);
}

const kinds = new Set();
for (const rank of v.ranks) {
  (await v.api("flows/kinds", { rank: rank.key })).kinds.forEach(([kind]) => kinds.add(kind));
}
let failed = 0;
for (const kind of new Set([...kinds, ...truth.map((f) => f.kind)])) {
  try {
    const { found, unmatched } = await toldOf(kind);
    const expected = truth
      .filter((f) => f.kind === kind)
      .filter((f) => byNumber.has(f.from.rank) && byNumber.has(f.to.rank));
    let closely;
    if (unmatched > 0) {
      assert.ok(ACROSS.includes(kind) && found.length + unmatched >= expected.length);
      await checkPossible(kind, found);
      const one = spread(found, 1)[0];
      closely = [
        await Promise.all(
          [one.from, one.to].map((e) => v.api("slice", { rank: e.rank, slice: e.slice })),
        ),
      ];
    } else {
      closely = [];
      for (const pair of spread(compare(kind, found, expected), CLOSELY)) {
        closely.push(await checkClosely(kind, pair));
      }
    }
    // Arrows of both kinds end in rows that a pinned lane shows on one screen.
    const [source, target] =
      closely.find(([a, b]) => a.row < 6 && b.row < 6 && a.dur > 0 && b.dur > 0) ?? closely[0];
    await checkWithClicks(kind, source, target);
    await checkByKind(kind, source, target);
    assert.deepEqual(v.faults, [], "nothing went wrong in the page");
    console.log(
      `ok - ${kind}: ${found.length} flows${unmatched > 0 ? `, ${unmatched} operators that the files do not pair` : ""}, ${closely.length} closely`,
    );
  } catch (error) {
    failed++;
    await v.shot(`flows-${kind}`);
    console.log(
      `not ok - ${kind}\n${String(error.stack).split("\n").slice(0, 9).join("\n")}\n${v.faults.join("\n")}`,
    );
    v.faults.length = 0;
  }
}
assert.ok(kinds.size > 0);
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
