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
        // What is nothing in all ranks has no part there.
        shown: said.get(row.rank_id)?.get(name) ?? (row[column] === 0 ? 0 : undefined),
        value: Math.round(row[column]),
      })),
  );
}

// --- pipeline: each block, transfer, gap and piece of other work of a stage -----------------------------------------------------

/** Where in the height of a row its ops are (of ops that overlap the upper and the lower half), what is below them, transfers. */
const HEIGHTS = [0.08, 0.2, 0.32, 0.44, 0.56, 0.68, 0.8, 0.92];
/** What is this narrow may lie under the pointer of what is beside it. */
const NARROW_PX = 3;

/** All tips of the rows of the chart. Runs in the page. */
function readRows(plot, heights) {
  const canvas = plot.querySelector("canvas.over");
  const tip = document.querySelector("#page-pipeline .pp-tip, .pp-tip");
  const { left, width } = plot.getBoundingClientRect();
  const point = (type, clientX, clientY) =>
    canvas.dispatchEvent(new PointerEvent(type, { clientX, clientY, bubbles: true }));
  const names = [...document.querySelectorAll("#page-pipeline .chart .names > div:not(.heading)")];
  return names.map((name) => {
    const row = name.getBoundingClientRect();
    const found = new Map();
    for (const height of heights) {
      for (let x = 1; x < width; x++) {
        point("pointermove", left + x, row.top + row.height * height);
        const text = tip.hidden ? "" : tip.textContent;
        if (text !== "" && !found.has(text)) {
          found.set(text, tip.innerText);
        }
      }
    }
    point("pointerleave", 0, 0);
    return [...found.values()];
  });
}

/** What a tip says, in the words that `partsOf` has for what the command says. */
function saidBy(tip) {
  const exact = exactOf(tip);
  const [title, kind = ""] = tip.split("\n");
  const pair = (...names) => names.map((name) => exact.get(name)).filter((ns) => ns !== undefined);
  const isOp = !/^(waiting,|other work$)/.test(title);
  const host = pair("host start", "host duration");
  const [, op, rank] = /^waits for\t(.*?)\t(.*?)\t?$/m.exec(tip) ?? [];
  return [
    /rank (\d+)/.exec(tip)?.[1],
    ...(isOp ? [kind.split(" ")[0].toLowerCase(), title] : [title]),
    ...pair("device start", "start", "device duration", "duration"),
    ...(host.length > 0 ? ["host", ...host] : []),
    ...(op === undefined ? [] : [op, rank]),
  ].join(" ");
}

/** Ops, gaps and other work of a step as tips say them, in the time of its first op, with how long each takes. */
function partsOf(chart, step, pipeline) {
  const pipelines = new Map(chart.ranks.map((r) => [r.rank, r.pipeline]));
  const isShown = (part) => part.step === step && pipelines.get(part.rank) === pipeline;
  const ops = chart.ops.filter(isShown);
  const origin = Math.min(...ops.map((op) => op.start_ns));
  const times = (from, to) => [from - origin, to - from];
  const part = (of, what, ...more) => [
    [of.rank, ...what, ...times(of.start_ns, of.end_ns), ...more].join(" "),
    of.end_ns - of.start_ns,
  ];
  const host = (op) =>
    op.host_start_ns === undefined ? [] : ["host", ...times(op.host_start_ns, op.host_end_ns)];
  const waited = (op) =>
    op === undefined ? [] : [`${op.name} on stage ${op.stage} rank ${op.rank}`];
  return new Map([
    ...ops.map((op) => part(op, [op.kind.toLowerCase(), op.name], ...host(op))),
    ...chart.bubble
      .filter(isShown)
      .map((gap) => part(gap, ["waiting,", gap.cause], ...waited(chart.ops[gap.waits_for]))),
    ...(chart.other_work ?? []).filter(isShown).map((other) => part(other, ["other work"])),
  ]);
}

/** What a tip says is in the chart of the command, and what of that has room is said. */
async function blocks({ page }, { cli, step, pipeline }) {
  const plot = page.locator("#page-pipeline .chart .plot");
  if (step === null || pipeline === null || (await plot.count()) === 0) {
    return [];
  }
  const parts = partsOf(await cli.json("chart"), step, pipeline);
  const { width } = await plot.boundingBox();
  const { step_ns: stepNs } = (
    await cli.rows(`SELECT * FROM PipelineStep WHERE step = ${step} AND pipeline = ${pipeline}`)
  )[0];
  const said = new Set();
  for (const tips of await plot.evaluate(readRows, HEIGHTS)) {
    tips.filter((tip) => !/\btheory\b/.test(tip)).forEach((tip) => said.add(saidBy(tip)));
  }
  const shown = [...said].map((text) => ({
    what: text,
    shown: 1,
    value: parts.has(text) ? 1 : 0,
  }));
  const wide = [...parts].filter(([, ns]) => ns > (stepNs / width) * NARROW_PX);
  return [
    ...shown,
    ...wide.map(([text]) => ({ what: text, shown: said.has(text) ? 1 : 0, value: 1 })),
  ];
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
