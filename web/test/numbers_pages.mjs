// The pages that are looked at, with what is chosen on each. Each step says what the page shows then; `about` holds what its tables do not
// tell of themselves.
import { wholeTable } from "./numbers_sources.mjs";

const ALL = { step: null, pipeline: null };
const step = (name, about = {}) => ({ name, about: { ...ALL, ...about } });

/** Clicks each of these, one after the other, while they are there. */
async function* each(viewer, selector, name, about = {}) {
  const all = viewer.page.locator(selector);
  for (let i = 0, n = await all.count(); i < n; i++) {
    const word = (await all.nth(i).innerText()).trim();
    await all.nth(i).click();
    await viewer.quiet();
    yield step(`${name}, ${word}`, about);
  }
}

// --- timeline -------------------------------------------------------------------------------------------------------------

/** The panel below as high as it goes. */
async function raisePanel(viewer) {
  const edge = await viewer.page.locator(".bottom-edge").boundingBox();
  await viewer.drag([edge.x + 200, edge.y + 2], [edge.x + 200, 300]);
}

/** Lanes that have slices of their own, the fullest of each kind. */
async function lanesOf({ api }, rank) {
  const { nodes } = await api("lanes", { rank: rank.key });
  const own = nodes.filter(
    (n) => n.lane >= 0 && n.slices > 0 && !["counter", "overlap"].includes(n.kind),
  );
  const by = new Map();
  for (const node of own) {
    if ((by.get(node.kind)?.slices ?? 0) < node.slices) {
      by.set(node.kind, node);
    }
  }
  return [...by.values()].map((n) => n.lane);
}

async function* systemViews(viewer, rank) {
  await viewer.look(`#tab=timeline&tl.panel=system&tl.of=${rank.key}`);
  yield* each(viewer, ".system aside [role=tab]", `timeline, system view of rank ${rank.rank}`);
  const { page } = viewer;
  await page.locator(".system aside [role=tab]").first().click();
  await viewer.quiet();
  const row = page.locator(".system .grid-row").first();
  if ((await row.count()) > 0) {
    await row.click();
    await viewer.quiet();
    yield step("timeline, slices of a part of the time");
  }
}

async function* timeline(viewer, about) {
  const [rank] = about.ranks;
  await viewer.look(`#tab=timeline&tl.panel=system`);
  await raisePanel(viewer);
  yield* systemViews(viewer, about.ranks.at(-1));
  const lanes = await lanesOf(about, rank);
  const { origin_ns, start, end } = rank;
  const from = BigInt(origin_ns) + BigInt(start) - 1n;
  const { cli } = about;
  const all = await wholeTable(about.api, "slices", { rank: rank.key, lanes: lanes.join() });
  const slice = all.columns.findIndex(([column]) => column === "slice");
  const boxed = await cli.rows(
    `SELECT id, name, step, start_ns, end_ns, start_ns - ${origin_ns} AS start, dur_ns AS duration FROM slice WHERE rank = ${rank.rank} AND id IN (${all.rows.map((row) => row[slice]).join()})`,
  );
  const box = [`${from}+${end - start + 2}`, ...lanes.map((lane) => `${rank.key}:${lane}`)].join();
  await viewer.look(`#tab=timeline&tl.box=${encodeURIComponent(box)}&tl.panel=list`);
  yield step("timeline, slice list", { boxed });
  await viewer.page.locator(".slice-list .grid-row").first().click();
  await viewer.quiet();
  yield step("timeline, slices of a name");
  for (const lane of lanes) {
    await viewer.look(`#tab=timeline&tl.panel=events&tl.events=${rank.key},${lane}`);
    yield step(`timeline, events of lane ${lane}`);
  }
  const [chosen] = boxed;
  await viewer.look(`#tab=timeline&tl.sel=${rank.key}:${chosen.id}&tl.panel=detail`);
  yield step("timeline, slice detail", { slice: chosen });
  const { rows } = await about.api("slices", { rank: rank.key, lanes: lanes[0], limit: 1 });
  const name = rows[0]?.[1] ?? "";
  await viewer.look(`#tab=timeline&tl.panel=find&tl.how=c&tl.q=${encodeURIComponent(name)}`);
  yield step(`timeline, search`);
}

// --- the other pages ------------------------------------------------------------------------------------------------------

const TABS = ["Stages", "Blocks", "Critical path", "Waits", "Other schedules"];

/** What is chosen of the chart; null: all of it, or the only one. */
const chosen = async (page, label) => {
  const select = page.getByRole("combobox", { name: label, exact: true });
  const text = (await select.count()) === 0 ? "" : await select.inputValue();
  return /^\d+$/.test(text) ? Number(text) : null;
};

async function* pipeline(viewer, { cli }) {
  await viewer.look("#tab=pipeline");
  const { page } = viewer;
  const steps = await cli.rows("SELECT DISTINCT step, pipeline FROM PipelineStep");
  if (steps === null) {
    yield step("pipeline, none");
    return;
  }
  const only = (name) => {
    const all = [...new Set(steps.map((row) => row[name]))];
    return all.length === 1 ? all[0] : null;
  };
  const one = {
    step: (await chosen(page, "step")) ?? only("step"),
    pipeline: (await chosen(page, "pipeline")) ?? only("pipeline"),
  };
  for (const isAll of [false, true]) {
    for (const tab of TABS) {
      await page.locator(".pl-bottom [role=tab]", { hasText: tab }).click();
      await viewer.quiet();
      const all = page.locator(".pl-all input");
      if ((await all.count()) > 0) {
        await all.first().setChecked(isAll);
        await viewer.quiet();
      }
      yield step(`pipeline, ${tab}${isAll ? " of all" : ""}`, isAll ? {} : one);
    }
  }
  yield* simulations(viewer, one);
}

/** Each is asked of the command line with the durations that the page says it used. */
async function* simulations(viewer, one) {
  const { page } = viewer;
  const asMeasured = page.waitForResponse((r) => r.url().includes("/api/simulate"));
  await page.locator(".pl-bottom [role=tab]", { hasText: "Simulate" }).click();
  const { used: own } = await (await asMeasured).json();
  for (const schedule of ["1f1b", "zb-h1", "zb-v"]) {
    const reply = page.waitForResponse((r) => {
      const asked = r.url().includes("/api/simulate") ? r.request().postDataJSON() : null;
      return asked?.schedule === schedule;
    });
    await page.locator(".sim select").first().selectOption(schedule);
    const { used } = await (await reply).json();
    await viewer.quiet();
    yield step(`pipeline, Simulate ${schedule}`, { ...one, used, own });
  }
}

async function* summary(viewer, { ranks }) {
  const { page } = viewer;
  await viewer.look("#tab=summary");
  yield step("summary");
  const steps = [...new Set(ranks.flatMap((r) => (r.steps ?? []).map(([id]) => id)))];
  if (steps.length > 1) {
    await viewer.look(`#tab=summary&sum.step=${steps.at(-1)}`);
    yield step(`summary of step ${steps.at(-1)}`, { step: steps.at(-1) });
  }
  await viewer.look("#tab=summary");
  const all = page.getByRole("button", { name: /^All \d+ as a table$/ });
  if ((await all.count()) > 0) {
    await all.first().click();
    await viewer.quiet();
  }
  const row = page.locator('section.table[data-table="summary"] .grid-row').first();
  if ((await row.count()) > 0) {
    await row.click();
    await viewer.quiet();
  }
  yield step("summary, all findings, details of a rank");
}

/** Ranks of a stage as one box, where the capture says how they are arranged. */
async function* folded(viewer, { api, ranks }) {
  const { algorithm, collected } = await api("summary");
  const n = (name) => collected?.[name] ?? 1;
  if (n("pp") * n("tp") * n("cp") * n("dp") !== ranks.length || ranks.length === 1) {
    return;
  }
  const setup = [algorithm, n("pp"), n("tp"), n("cp"), n("dp"), 1, 1].join();
  await viewer.look(`#tab=summary&sum.setup=${setup}&sum.fold=stage`);
  yield step("summary, ranks of a stage together", { kept: ["pp"] });
}

/** What is open, rank by rank. */
async function* dialog(viewer) {
  await viewer.page
    .getByRole("button", { name: /\d+ of \d+ ranks?/ })
    .first()
    .click();
  await viewer.page.locator("dialog .grid-row, [role=dialog] .grid-row").first().waitFor();
  yield step("capture, its ranks");
  await viewer.page.keyboard.press("Escape");
}

async function* operator(viewer, { ranks }) {
  const rank = ranks.at(-1);
  for (const by of ["types", "names", "shapes", "comm_names", "comm_types"]) {
    await viewer.look(`#tab=operator&op.rank=${rank.key}&op.by=${by}`);
    yield step(`operator, ${by} of rank ${rank.rank}`, { rank });
  }
}

async function* calls(viewer, { ranks }) {
  for (const by of ["callers", "callees", "modules"]) {
    for (const rank of ranks.length > 1 ? [ranks[0], null] : [ranks[0]]) {
      const of = rank === null ? "all" : rank.key;
      await viewer.look(`#tab=calls&ct.rank=${of}&ct.by=${by}`);
      yield step(`calls, ${by} of ${rank === null ? "all ranks" : `rank ${rank.rank}`}`, {
        by,
        rank,
      });
    }
  }
}

async function* memory(viewer, { ranks: [rank] }) {
  await viewer.look(`#tab=memory&mem.rank=${rank.key}`);
  yield step("memory", { rank });
}

/** The ranks of a communicator that waits for its slowest one; null: there is none. */
async function groupOf({ cli }) {
  const groups = await cli.rows(
    `SELECT group_name AS name FROM CommunicationGroupMapping
      WHERE group_name IN (SELECT group_name FROM ClusterCommunicationTime WHERE hccl_op_name = 'Total Op Info')
      GROUP BY group_name HAVING min(type) = 'collective' AND max(type) = 'collective' ORDER BY 1`,
  );
  return groups?.[0]?.name ?? null;
}

async function* communication(viewer, about) {
  for (const view of ["matrix", "duration", "advice"]) {
    await viewer.look(`#tab=communication&comm.view=${view}`);
    yield step(`communication, ${view}`);
  }
  const group = await groupOf(about);
  if (group !== null && about.base === undefined) {
    await viewer.look(
      `#tab=communication&comm.view=duration&comm.group=${encodeURIComponent(group)}`,
    );
    yield step(`communication, duration in group ${group}`, { group });
  }
}

async function* whatif(viewer, { cli }) {
  await viewer.look("#tab=whatif");
  const job = await cli.rows("SELECT stages FROM whatif");
  if (job === null) {
    return;
  }
  yield step("whatif");
  const layers = Array(job[0].stages).fill(2).join();
  await viewer.look(`#tab=whatif&wi.layers=${layers}`);
  yield step("whatif, plan", { layers });
  const question = { without: "stage=1", scale: "stage=0:-10%" };
  const asked = Object.entries(question).map(
    ([name, part]) => `wi.${name}=${encodeURIComponent(part)}`,
  );
  await viewer.look(`#tab=whatif&${asked.join("&")}`);
  yield step("whatif, asked", { question });
}

async function* query(viewer) {
  const sql =
    "SELECT rank, kind, count(*) AS n, sum(dur_ns) AS total_ns, avg(dur_ns) AS mean_ns FROM slice GROUP BY rank, kind ORDER BY 1, 2";
  await viewer.look(`#tab=query&sql.q=${encodeURIComponent(sql)}`);
  yield step("query", { sql });
}

async function* compare(viewer) {
  await viewer.look("#tab=compare");
  yield step("compare");
  yield* each(viewer, '[role=group][aria-label="By"]:visible button', "compare");
  const row = viewer.page.locator('section.table[data-table$="Compare"]:visible .grid-row').last();
  if ((await row.count()) > 0) {
    await row.click();
    await viewer.quiet();
    yield step("compare, places of a name");
  }
}

export async function* walk(viewer, about) {
  const { base, ranks } = about;
  const several = ranks.length > 1 ? [communication, whatif] : [];
  const pages =
    base === undefined
      ? [timeline, pipeline, summary, folded, operator, calls, memory, ...several, query, dialog]
      : [summary, operator, memory, communication, compare];
  for (const page of pages) {
    yield* page(viewer, about);
  }
}
