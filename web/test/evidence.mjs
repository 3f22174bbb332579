// The buttons below findings: each leads to the rank, step and slice that it names, and what is seen there has its figure.
import assert from "node:assert/strict";
import { until } from "./page.mjs";
import { atRest } from "./rest.mjs";

/** Of a finding, as the page does. */
const MOST_PLACES = 4;

const rowsOf = ({ columns, rows }) => {
  const at = (name) => columns.findIndex(([column]) => column === name);
  return rows.map((row) => ({
    finding: row[at("finding")],
    rank: row[at("rank_id")],
    key: row[at("key")],
    step: row[at("step")],
    time: row[at("time")],
    duration: row[at("duration")],
    name: row[at("name")],
  }));
};

const hashOf = async (page) =>
  new URLSearchParams(await page.evaluate(() => location.hash.slice(1)));

/** "1736410576712350600+126930576": since the epoch, and how long. */
const spanOf = (text) => {
  const [from, ...rest] = (text ?? "").split(",")[0].split("+");
  return { from: BigInt(from), ns: Number(rest.at(-1)) };
};

/** A sum over steps is like that of the middle step by length. */
function stepOf(rank, step) {
  const byLength = rank.steps.toSorted((a, b) => a[2] - a[1] - (b[2] - b[1]));
  const [, start, end] =
    step === null
      ? byLength[(byLength.length - 1) >> 1]
      : rank.steps.find(([id]) => String(id) === String(step));
  return { from: BigInt(rank.origin_ns) + BigInt(start), ns: end - start };
}

/** A moment of the timeline: its slice, or a box where nothing has that name. */
async function checkMoment(page, api, place, rank, figure) {
  const at = BigInt(place.time);
  const hash = await hashOf(page);
  const [key, id] = hash.get("tl.sel")?.split(":") ?? [];
  if (id === undefined) {
    const box = hash.get("tl.box");
    const { from, ns } = spanOf(box);
    assert.deepEqual([from, ns], [at, place.duration], "the box is what it names");
    assert.ok(box.includes(`,${rank.id}:`), "and lies in its rank");
    await page.locator(".bottom-body", { hasText: `${figure} framed` }).waitFor();
    return;
  }
  assert.equal(key, rank.id, "a slice of its rank");
  const earlier = ["tl.box", "tl.span"].filter((name) => hash.has(name));
  assert.deepEqual(earlier, [], "nothing of a place before it");
  const told = await api("slice", { rank: rank.key, slice: id });
  const start = BigInt(told.origin_ns) + BigInt(told.start);
  assert.equal(told.name, place.name);
  assert.ok(start <= at && start + BigInt(told.dur) >= at + BigInt(place.duration), "that moment");
  const detail = page.locator(".detail", { hasText: place.name });
  await detail.waitFor();
  if (told.dur === place.duration) {
    assert.ok((await detail.innerText()).includes(figure), `its details say ${figure}`);
  }
}

async function checkTimeline(page, api, place, figure) {
  const rank = (await api("ranks")).ranks.find((r) => r.key === place.key);
  assert.equal(String(rank.rank), String(place.rank));
  if (place.time !== null) {
    return checkMoment(page, api, place, rank, figure);
  }
  const { from, ns } = stepOf(rank, place.step);
  const box = spanOf((await hashOf(page)).get("tl.box"));
  assert.deepEqual([box.from, box.ns], [from, ns], "the step is framed");
  assert.equal(await page.locator(".system select").inputValue(), rank.key, "its tables below");
}

/** The middle of what is framed in the chart, on the screen; what fades the others shows through. Runs in the page. */
function middleOfFrame(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const most = { left: Infinity, right: -1, top: Infinity, bottom: -1 };
  for (let i = 3; i < data.length; i += 4) {
    if (data[i] > 240) {
      const [x, y] = [((i - 3) / 4) % canvas.width, Math.floor((i - 3) / 4 / canvas.width)];
      most.left = Math.min(most.left, x);
      most.right = Math.max(most.right, x);
      most.top = Math.min(most.top, y);
      most.bottom = Math.max(most.bottom, y);
    }
  }
  const { x, y, width } = canvas.getBoundingClientRect();
  const px = width / canvas.width;
  return [x + (px * (most.left + most.right)) / 2, y + (px * (most.top + most.bottom)) / 2];
}

/** The chart of its pipeline, with a moment framed in it. */
async function checkChart(page, api, place, figure) {
  const { chart, places } = await api("chart", { cluster: 0 });
  const [, , pipeline] = chart.ranks[places.findIndex(([key]) => key === place.key)];
  const shown = page.locator("#page-pipeline", { hasText: `pipeline ${pipeline}` });
  await shown.locator(".chart .names div").first().waitFor();
  if (place.time !== null) {
    const canvas = page.locator("#page-pipeline .chart canvas.over");
    await page.mouse.move(...(await canvas.evaluate(middleOfFrame)));
    const tip = page.locator(".pp-tip:visible");
    await tip.waitFor();
    const said = await tip.innerText();
    // A wait may be a part of the receive that waited.
    const [, all] = /device duration\t.*?\t([\d\u2009]+) ns/.exec(said) ?? [];
    const isPart = all !== undefined && Number(all.replaceAll("\u2009", "")) >= place.duration;
    assert.ok(said.includes(figure) || isPart, `${figure}: ${said}`);
    assert.match(said, new RegExp(`rank ${place.rank}\\b`));
    await page.mouse.move(2, 2);
  }
}

/** Of a page of findings: `page` shows it, `title` is the tab that leads back. Gives how many buttons were pressed. */
export async function checkEvidence(page, api, section, tab) {
  const evidence = rowsOf(await api("view", { name: "cluster_evidence", limit: 5000 }));
  const findings = page.locator(`${section} .finding`);
  await findings.locator(".places").first().waitFor();
  let n = 0;
  for (const finding of await findings.all()) {
    const number = Number(/^\d+/.exec(await finding.locator("b").first().innerText())[0]);
    const places = evidence.filter((e) => e.finding === number && e.key !== null);
    const buttons = finding.locator(".places button");
    assert.equal(await buttons.count(), Math.min(places.length, MOST_PLACES), `of ${number}`);
    for (const [i, place] of places.slice(0, MOST_PLACES).entries()) {
      const said = (await buttons.nth(i).innerText()).replace(/\s+/g, " ");
      const parts = said.split(" \u00b7 ");
      assert.equal(parts[0], `rank ${place.rank}`);
      assert.ok(place.step === null || parts[1] === `step ${place.step}`, said);
      const figure = parts.at(-1);
      await buttons.nth(i).click();
      await until(
        async () => (await hashOf(page)).get("tab") !== tab,
        `${said} leads to another page`,
      );
      await atRest(page);
      const isChart = (await hashOf(page)).get("tab") === "pipeline";
      await (isChart ? checkChart : checkTimeline)(page, api, place, figure).catch((error) => {
        throw new Error(`${said}: ${error.message}`, { cause: error });
      });
      await page.locator(`#tab-${tab}`).click();
      await buttons.nth(i).waitFor();
      n++;
    }
  }
  return n;
}
