// Figures that are drawn on canvases, as whoever points at them reads them, beside what the command line says. Each is { what, shown, value, room }: by so
// much it may be less.
import { atRest } from "./rest.mjs";

const integer = (text) => Number(text.replaceAll("\u2009", "").replace("\u2212", "-"));
/** Exact times of a tip by the names of their lines. */
const exactOf = (tip) =>
  new Map(
    [...tip.matchAll(/^(.+?)\t(?:.*[\t ])?([\d\u2009]+) ns\t?$/gm)].map(([, name, ns]) => [
      name,
      integer(ns),
    ]),
  );

// --- summary: the bar of a rank -------------------------------------------------------------------------------------------

const PARTS = {
  "Before the first work": "preparing_ns",
  "Pure computing": "pure_computing_ns",
  Overlapped: "overlapped_ns",
  "Communication (not overlapped)": "not_overlapped_ns",
  Free: "free_ns",
  "After the last work": "after_ns",
};

async function bars({ page }, { cli }) {
  const canvas = page.locator("canvas[aria-label='What a step is made of, by rank']");
  if ((await canvas.count()) === 0) {
    return [];
  }
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const said = new Map();
  for (let x = 2; x < box.width; x += Math.max(4, box.width / 120)) {
    await page.mouse.move(box.x + x, box.y + box.height / 2);
    const tip = await page.evaluate(() => document.querySelector(".hover-tip")?.innerText ?? "");
    if (/^\d+\n/.test(tip)) {
      said.set(Number.parseInt(tip), exactOf(tip));
    }
  }
  await page.mouse.move(2, 2);
  const rows = await cli.rows("SELECT * FROM overview ORDER BY rank_id");
  return rows.flatMap((row) =>
    Object.entries(PARTS)
      .filter(([, column]) => row[column] !== null)
      .map(([name, column]) => ({
        what: `${name} of the bar of rank ${row.rank_id}`,
        shown: said.get(row.rank_id)?.get(name),
        value: Math.round(row[column]),
      })),
  );
}

// --- pipeline: the blocks of a stage ----------------------------------------------------------------------------------------

/** All tips of the rows of the chart, from left to right. Runs in the page. */
function readRows(plot) {
  const canvas = plot.querySelector("canvas.over");
  const tip = document.querySelector("#page-pipeline .pp-tip, .pp-tip");
  const { left, width } = plot.getBoundingClientRect();
  const point = (type, clientX, clientY) =>
    canvas.dispatchEvent(new PointerEvent(type, { clientX, clientY, bubbles: true }));
  const names = [...document.querySelectorAll("#page-pipeline .chart .names > div:not(.heading)")];
  return names.map((name) => {
    const row = name.getBoundingClientRect();
    const found = new Map();
    for (let x = 1; x < width; x++) {
      point("pointermove", left + x, row.top + row.height * 0.3);
      const text = tip.hidden ? "" : tip.textContent;
      if (text !== "" && !found.has(text)) {
        found.set(text, tip.innerText);
      }
    }
    point("pointerleave", 0, 0);
    return [...found.values()];
  });
}

const durationOf = (tip) => {
  const exact = exactOf(tip);
  const of = (name) => exact.get(`device ${name}`) ?? exact.get(name);
  return { from: of("start"), ns: of("duration") };
};
const unionOf = (spans) => {
  let [sum, end] = [0, -Infinity];
  for (const { from, ns } of spans.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, from + ns - Math.max(from, end));
    end = Math.max(end, from + ns);
  }
  return sum;
};

const CAUSES = { "warm-up": "warm_up_ns", stall: "stall_ns", "cool-down": "cool_down_ns" };
/** Where a gap is this narrow the blocks beside it are meant. */
const NARROW_PX = 3;

async function blocks({ page }, { cli, step, pipeline }) {
  const plot = page.locator("#page-pipeline .chart .plot");
  if (step === null || pipeline === null || (await plot.count()) === 0) {
    return [];
  }
  if (/dualpipe/i.test(await page.locator("#page-pipeline .pl-what").innerText())) {
    return []; // passes that share their time lie on one another: not all of a block can be pointed at
  }
  const out = [];
  const { width } = await plot.boundingBox();
  const chart = await cli.json("chart");
  const known = await cli.rows(
    `SELECT * FROM PipelineBubble WHERE step = ${step} AND pipeline = ${pipeline} ORDER BY stage`,
  );
  for (const tips of await plot.evaluate(readRows)) {
    const rank = Number(/rank (\d+)/.exec(tips[0] ?? "")?.[1]);
    const row = known?.find((r) => r.rank === rank);
    if (row === undefined) {
      continue;
    }
    const spans = tips.map((tip) => ({ tip, ...durationOf(tip) }));
    const work = spans.filter(({ tip }) => !/^(waiting|recv|send)/.test(tip));
    const what = (name) => `${name} of the row of rank ${rank}`;
    out.push({ what: what("busy"), shown: unionOf(work), value: row.busy_ns });
    const px = (Math.max(...spans.map(({ from, ns }) => from + ns)) / width) * NARROW_PX;
    for (const [cause, column] of Object.entries(CAUSES)) {
      const shown = unionOf(spans.filter(({ tip }) => tip.startsWith(`waiting, ${cause}`)));
      const hidden = chart.bubble
        .filter((gap) => gap.rank === rank && gap.step === step && gap.cause === cause)
        .map((gap) => gap.end_ns - gap.start_ns)
        .filter((ns) => ns < px);
      const room = hidden.reduce((sum, ns) => sum + ns, 0);
      out.push({ what: what(cause), shown, value: row[column], room });
    }
  }
  return out;
}

// --- memory: curves ---------------------------------------------------------------------------------------------------------

const UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

async function curves({ page }, { cli, rank }) {
  const canvas = page.locator("#page-memory .curves .u-over").first();
  if ((await canvas.count()) === 0) {
    return [];
  }
  const rows = await cli.rows(
    `SELECT owner, what, time_ns - ${rank.origin_ns} AS at, value_bytes AS bytes FROM memory_curve WHERE rank = ${rank.rank} ORDER BY time_ns`,
  );
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const out = [];
  for (const share of [0.02, 0.5, 0.97]) {
    await page.mouse.move(box.x + box.width * share, box.y + box.height / 2);
    await atRest(page);
    const tip = await page.locator(".curve-tip").innerText();
    const [, time, unit] = /^([\d.\u2009]+) (µs|ms|s)/.exec(tip) ?? [];
    const at = integer(time ?? "") * { µs: 1e3, ms: 1e6, s: 1e9 }[unit];
    for (const [, name, number, size] of tip.matchAll(/^(.+) ([\d.\u2009]+) ([KMG]?i?B)$/gm)) {
      // The last one that was known then; a time is written to the microsecond.
      const last = rows.findLast(
        (r) => `${r.owner} ${r.what}`.trim() === name && r.at <= at + 1000,
      );
      const decimals = number.split(".")[1]?.length ?? 0;
      const value = last === undefined ? "none" : (last.bytes / UNITS[size]).toFixed(decimals);
      out.push({
        what: `${name} at ${time} ${unit}`,
        shown: integer(number),
        value: Number(value),
      });
    }
  }
  await page.mouse.move(2, 2);
  return out;
}

const OF = { summary: bars, "pipeline, Stages": blocks, memory: curves };

/** What is wrong with the canvases of a step of the walk, and how many figures of them were compared. */
export async function canvases(viewer, about, name) {
  const found = (await OF[name]?.(viewer, about)) ?? [];
  return {
    n: found.length,
    faults: found
      // Of a mean one nanosecond is rounding.
      .filter(({ shown, value, room = 0 }) => !(shown <= value + 1 && shown >= value - room - 1))
      .map(
        ({ what, shown, value }) => `${name}: ${what} is ${shown} on the canvas, ${value} there`,
      ),
  };
}
