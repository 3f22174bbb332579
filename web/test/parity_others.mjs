// The items of the parity list that are about the other pages, on any capture. What a capture has nothing of, the page has to say.
import assert from "node:assert/strict";
import { first, skip, v } from "./parity_stage.mjs";

const { page } = v;
const ready = v.ranks.filter((r) => r.state === "ready");
const column = (table, name) => table.columns.findIndex((c) => c[0] === name);
const own = (name, more = {}) => v.api("view", { name, rank: first, ...more });
/** A reply, or null where the capture has nothing of the kind. */
const orNone = (asked) =>
  asked.catch((error) => {
    assert.match(error.message, /: 409 /);
    return null;
  });
/** A reason, in place of what it is the reason for. */
const saysWhy = async (slot, pattern) => {
  const said = await slot.locator(".empty").allInnerTexts();
  assert.ok(
    said.some((s) => pattern.test(s)),
    `${pattern}: ${said.join(" | ")}`,
  );
};
/** What canvases show, as a number of each: a picture of it takes ten times as long. */
const picture = (slot) =>
  slot.locator("canvas").evaluateAll((all) =>
    all
      .filter((c) => c.width > 0 && c.height > 0)
      .map((c) => {
        const { buffer } = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        return new Uint32Array(buffer).reduce((sum, n) => (Math.imul(sum, 31) + n) | 0, 0);
      })
      .join(),
  );
const choice = (slot, name) => slot.getByRole("combobox", { name, exact: true }).first();
/** Of a list, or of a field that offers some of very many while somebody is in it. */
async function options(slot, label) {
  const field = choice(slot, label);
  const isTyped = await field.evaluate((e) => e instanceof HTMLInputElement);
  await (isTyped && field.focus());
  const all = await field.evaluate((e) => [...(e.list ?? e).options].map((o) => o.value));
  await (isTyped && field.blur());
  return all;
}
const tableOf = (slot, text) => slot.locator(".table", { hasText: text }).first();
const rowsOf = async (table) =>
  Number(await table.locator(".grid").getAttribute("aria-rowcount")) - 1;
const row = (table, n = 0) => table.locator(`[role=row][aria-rowindex="${n + 2}"]`);
/** Cells of a column of the rows in sight, from the top. */
const cellsOf = (table, heading) =>
  table.evaluate((box, name) => {
    const at = [...box.querySelectorAll("[role=columnheader]")].findIndex(
      (h) => h.querySelector(".head-name")?.textContent === name,
    );
    return [...box.querySelectorAll(".grid-row")]
      .sort(
        (a, b) => Number(a.getAttribute("aria-rowindex")) - Number(b.getAttribute("aria-rowindex")),
      )
      .map((r) => r.children[at]?.textContent ?? "");
  }, heading);
const numberOf = (text) => Number(text.replace("\u2212", "-").replace(/[^\d.-]/g, ""));
const falls = (texts) => {
  const all = texts.filter((s) => /\d/.test(s)).map(numberOf);
  return all.every((n, i) => i === 0 || n <= all[i - 1]);
};
const sortBy = async (table, heading) => {
  await table.locator(".head", { hasText: heading }).first().locator("button").first().click();
  await v.until(() => cellsOf(table, heading), falls, `${heading} falls`);
};
/** Clicks where a picture has something to click, from left to right, until it has had its effect. */
async function clickIn(canvas, isDone, what) {
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const end = Date.now() + 20_000;
  for (let share = 0.06; share < 1 && Date.now() < end; share += 0.012) {
    for (const y of [36, box.height / 2, box.height * 0.85].filter((at) => at < 600)) {
      await page.mouse.move(box.x + box.width * share, box.y + y);
      if ((await canvas.evaluate((c) => getComputedStyle(c).cursor)) !== "pointer") {
        continue;
      }
      await page.mouse.click(box.x + box.width * share, box.y + y);
      await v.settle();
      if (await isDone()) {
        return;
      }
    }
  }
  assert.fail(what);
}
const toTimeline = (what) =>
  v.until(
    async () => new URLSearchParams(new URL(page.url()).hash.slice(1)),
    (said) => said.get("tab") === "timeline" && said.has("tl.sel"),
    what,
  );

// --- Summary ---------------------------------------------------------------------------------------------------------------

const steps = await orNone(
  v.api("mode", { name: "step_trace_time", table: "ClusterStepTraceTime", limit: 5000 }),
);
const hasSteps = steps !== null && steps.rows.length > 0;
async function summary(state = {}) {
  const slot = await v.open("summary", state);
  if (!hasSteps) {
    await saysWhy(slot, /step|No kernels/);
    skip("no steps of a device");
  }
  await slot.locator("form").waitFor();
  return slot;
}
async function generated() {
  const slot = await summary();
  const press = slot.locator("form button[type=submit]");
  await v.until(
    async () => (await press.isEnabled()) || (await slot.locator("form .bad").count()) > 0,
    Boolean,
    "sizes are checked",
  );
  // Ranks of the job that are not here, which only the page's user can place.
  const [, all] =
    /is not the (\d+) ranks of the job/.exec(await slot.locator("form").innerText()) ?? [];
  if (all !== undefined) {
    await slot.getByRole("spinbutton", { name: "DP", exact: true }).fill(all);
  }
  await v.until(() => press.isEnabled(), Boolean, "sizes that fit");
  await press.click();
  if ((await slot.getByRole("button", { name: "Generate anyway" }).count()) > 0) {
    await press.click();
  }
  await v.until(
    () => v.said("sum"),
    (s) => s.setup !== undefined,
    "sizes are taken",
  );
  await v.idle(slot);
  return slot;
}
/** Findings of many ranks are worked out when they are asked for. */
async function findings(slot) {
  const asks = slot.getByRole("button", { name: /\(goes through / });
  if ((await asks.count()) > 0) {
    await asks.click();
  }
  await v.idle(slot);
}

// --- Communication ---------------------------------------------------------------------------------------------------------

async function communication(view, state = {}) {
  const slot = await v.open("communication", { "comm.view": view, ...state });
  return slot;
}
async function chooseOperator(slot, name) {
  const operator = choice(slot, "Operator");
  if (await operator.evaluate((e) => e.localName === "input")) {
    await operator.fill(name);
    assert.equal(await operator.getAttribute("placeholder"), name, "what was typed is chosen");
  } else {
    await operator.selectOption(name);
  }
  await v.until(
    () => v.page.evaluate(() => location.hash),
    (hash) => new URLSearchParams(hash.slice(1)).get("comm.op") === name,
    "the address has it",
  );
}

async function durations() {
  const slot = await communication("duration");
  await slot.locator("canvas[aria-label^='Operators in time']").waitFor();
  return slot;
}

// --- Memory and Operator ---------------------------------------------------------------------------------------------------

async function memory(state = {}) {
  const slot = await v.open("memory", state);
  if ((await orNone(own("memory_curve", { points: 8 }))) === null) {
    await saysWhy(slot, /nothing of memory/);
    await saysWhy(slot, /which operator allocates/);
    skip("no memory");
  }
  await slot.locator(".curves").first().waitFor();
  return slot;
}
const kinds = await orNone(own("operator_types"));
async function operators(state = {}) {
  const slot = await v.open("operator", state);
  if (kinds === null) {
    await saysWhy(slot, /No kernels/);
    skip("no kernels");
  }
  await row(tableOf(slot, "Operator details")).waitFor();
  return slot;
}
/** The funnel of a table, with a text or a range in the field of a column. */
async function filter(table, filters) {
  const funnel = table.getByRole("button", { name: "Filter columns" });
  if ((await funnel.getAttribute("aria-pressed")) === "false") {
    await funnel.click();
  }
  for (const [name, text] of Object.entries(filters)) {
    await table.getByRole("textbox", { name: `Filter of ${name}` }).fill(text);
    await page.keyboard.press("Enter");
  }
}
/** Filters of a table stay when another rank is chosen, and when one comes back to the page. */
async function asAtFirst(table) {
  const reset = table.getByRole("button", { name: "Order and filter as at first" });
  if ((await reset.count()) > 0) {
    await reset.click();
  }
}
const isLeft = (table, n) =>
  v.until(
    () => rowsOf(table),
    (found) => found === n,
    `${n} rows are left`,
  );

/** The same capture once more, as a further one: what is compared with it differs in nothing. */
let other = null;
async function withOther() {
  if (other === null) {
    const { clusters } = await v.api("session");
    await page.locator("header .opened").click();
    await page.locator("dialog .open-another summary").click();
    await page.locator("dialog .open-another input:not([type=file])").fill(clusters[0].path);
    await page.locator("dialog .open-another button[type=submit]").click();
    await v.until(
      async () => (await v.api("ranks")).ranks.filter((r) => r.cluster === 1),
      (all) => all.length === v.ranks.length && all.slice(0, 2).every((r) => r.state === "ready"),
      "it is read once more",
    );
    other = (await v.api("ranks")).ranks.filter((r) => r.cluster === 1);
    await page.keyboard.press("Escape");
  }
}
async function compared(slot) {
  const beside = slot.locator(".table", { hasText: "beside the baseline" }).first();
  await row(beside).waitFor();
  for (const heading of await beside
    .locator(".head-name", { hasText: /difference$/ })
    .allInnerTexts()) {
    for (const text of await cellsOf(beside, heading)) {
      assert.ok(!/[1-9]/.test(text), `${heading}: ${text}`);
    }
  }
}

export const PAGES = {
  "29 base info": async () => {
    const slot = await v.open("summary");
    const told = await v.api("view", { name: "base_info" });
    const fact = (name) => told.rows.find((r) => r[0] === name)?.[1];
    const names = await slot.locator("dl.facts dt").allInnerTexts();
    const values = await slot.locator("dl.facts dd").allInnerTexts();
    const value = (name) => values[names.indexOf(name)];
    assert.equal(value("Ranks"), String(fact("ranks")));
    assert.equal(value("Path"), String(fact("path")));
    for (const name of ["Steps", "Recorded from", "Collected", "Data", "Format"]) {
      assert.match(value(name), /\w/, name);
    }
  },

  "30 Generate": async () => {
    await generated();
    await page.getByRole("button", { name: "As collected" }).click();
    await v.until(
      () => v.said("sum"),
      (s) => s.setup === undefined,
      "as collected",
    );
  },

  "31 dimension tabs": async () => {
    const slot = await generated();
    const tabs = slot.getByRole("group", { name: "Fold" }).getByRole("button");
    assert.ok((await tabs.count()) >= 3);
    for (let i = (await tabs.count()) - 1; i > 0; i--) {
      await tabs.nth(i).click();
      await slot.locator("canvas[aria-label='Largest of each group']").waitFor();
    }
    await tabs.first().click();
    await slot.locator("canvas[aria-label='Largest of each group']").waitFor({ state: "detached" });
  },

  "32 heat map by preparing": async () => {
    const slot = await summary({ "sum.metric": "preparing" });
    if (v.ranks.length < 2) {
      assert.equal(await slot.locator("#where").count(), 0);
      skip("one rank");
    }
    await slot.locator("#where canvas").first().waitFor();
    const [type, index, preparing] = ["type", "index", "preparing"].map((c) => column(steps, c));
    const of = new Map();
    steps.rows
      .filter((r) => r[type] === "rank" && r[preparing] !== null)
      .forEach((r) =>
        of.set(String(r[index]), [...(of.get(String(r[index])) ?? []), Number(r[preparing])]),
      );
    const mean = [...of.values()].map((all) => all.reduce((a, b) => a + b, 0) / all.length);
    const most = await v.until(
      () => slot.locator(".where-largest li").first().innerText(),
      (text) => /\d/.test(text),
      "the rank with most of it",
    );
    const [, number, unit] = /([\d.]+) (ns|µs|ms|s)$/.exec(most.trim());
    const us = Number(number) * { ns: 1e-3, µs: 1, ms: 1e3, s: 1e6 }[unit];
    assert.ok(Math.abs(us - Math.max(...mean)) <= 0.006 * us, `${most}: ${Math.max(...mean)} us`);
  },

  "33 link lines of a rank": async () => {
    const slot = await summary();
    const where = slot.locator("#where");
    if (v.ranks.length < 2) {
      assert.equal(await where.count(), 0);
      skip("one rank");
    }
    const links = where.locator(".link-kind input");
    if ((await links.count()) === 0) {
      await v.shows("#where", "How the ranks are arranged is not known");
      skip("ranks in no groups");
    }
    await where.locator(".where-largest button").first().click();
    await v.until(
      () => v.said("sum"),
      (s) => s.at !== undefined,
      "a rank is kept",
    );
    for (const one of await links.all()) {
      await one.uncheck();
    }
    await v.settle();
    const none = await picture(where);
    for (const one of await links.all()) {
      await one.check();
    }
    await v.until(
      () => picture(where),
      (now) => now !== none,
      "lines",
    );
    await where
      .getByRole("button", { name: /^Communication of / })
      .first()
      .waitFor();
  },

  "34 overview by step and places": async () => {
    const slot = await summary();
    const table = slot.locator(".card.flush .table").last();
    const all = await rowsOf(table);
    const step = (await options(slot, "Step")).at(-1);
    const before = await picture(slot);
    if (step !== "") {
      await choice(slot, "Step").selectOption(step);
      await v.until(
        () => v.said("sum"),
        (s) => s.step === step,
        "a step",
      );
    }
    if (v.ranks.length > 1) {
      await slot.getByPlaceholder("pp=2 dp=0-3").fill(`rank=${v.ranks[1].rank}`);
      await v.until(
        () => rowsOf(table),
        (n) => n < all,
        "the rows of a rank",
      );
      await v.until(
        () => picture(slot),
        (now) => now !== before,
        "the bars of a rank",
      );
    }
  },

  "35 details of a rank": async () => {
    const slot = await summary();
    const bars = slot.locator("canvas[aria-label='What a step is made of, by rank']");
    if ((await bars.count()) === 0) {
      await saysWhy(slot, /no rank has computing kernels/);
      skip("no kernels");
    }
    const details = slot.locator(".table", { hasText: "Computing by accelerator core" });
    await clickIn(
      bars,
      async () => (await details.count()) > 0,
      "a bar opens the details of its rank",
    );
    await v.idle(slot);
    await row(details).waitFor();
  },

  "36 advice": async () => {
    const slot = await v.open("summary");
    await findings(slot);
    const told = await v.api("view", { name: "cluster_advice", limit: 5000 });
    assert.equal(await slot.locator(".finding").count(), Math.min(6, told.rows.length));
    if (told.rows.length > 0) {
      await v.shows("#page-summary .finding", told.rows[0][column(told, "title")]);
    } else {
      await v.shows("#page-summary", "Nothing stands out.");
    }
  },

  "37 load of experts": async () => {
    const slot = await summary({ "sum.metric": "tokens" });
    if (v.ranks.length < 2) {
      assert.equal(await slot.locator("#where").count(), 0);
      skip("one rank");
    }
    await v.idle(slot);
    const told = await orNone(v.api("mode", { name: "ep_load_balance", table: "EPTokensSummary" }));
    if (told === null || told.rows.length === 0) {
      const said = await v.until(
        () => slot.locator("#where").innerText(),
        (text) => /not known of \d+ of \d+|expert/i.test(text),
        "why there is none",
      );
      assert.ok(said.length > 0);
      skip("no experts");
    }
    await slot.locator("#where canvas").first().waitFor();
  },

  "38 configuration of communication": async () => {
    const slot = await durations();
    const told = await v.api("mode", {
      name: "communication_time_sum",
      table: "ClusterCommunicationTime",
      limit: 5000,
    });
    const named = new Set(told.rows.map((r) => String(r[column(told, "step")] ?? "")));
    assert.deepEqual(new Set((await options(slot, "Step")).slice(1)), named);
    assert.ok(
      (await options(slot, "Group")).length >= 1 && (await options(slot, "Operator")).length > 2,
    );
    const names = told.rows.map((r) => String(r[column(told, "hccl_op_name")]));
    await chooseOperator(
      slot,
      names.find((name) => name !== "Total Op Info"),
    );
    assert.equal(await slot.locator(".group").first().getByRole("button").count(), 3);
  },

  "39 matrix, its values and range": async () => {
    const slot = await communication("matrix");
    const told = await orNone(
      v.api("mode", { name: "communication_matrix_sum", table: "ClusterCommunicationMatrix" }),
    );
    if (told === null) {
      await saysWhy(slot, /matrix|level/i);
      skip("no matrix of links");
    }
    const seen = new Set();
    for (const value of ["bandwidth", "size", "time", "transport"]) {
      await choice(slot, "Value").selectOption(value);
      await slot.locator("canvas[aria-label^='Matrix']").waitFor();
      await v.settle();
      seen.add(await picture(slot));
    }
    assert.equal(seen.size, 4, "four pictures");
    await choice(slot, "Value").selectOption("bandwidth");
    await v.settle();
    const before = await picture(slot);
    await slot.getByLabel("Least that is shown").fill("1");
    await slot.getByLabel("Most that is shown").fill("2");
    await page.keyboard.press("Enter");
    await v.until(
      () => picture(slot),
      (now) => now !== before,
      "colours of a range",
    );
  },

  "40 operators in time": async () => {
    const slot = await durations();
    const axis = slot.locator("canvas[aria-label^='Operators in time']");
    const box = await axis.boundingBox();
    for (let x = 100; x < box.width && (await page.locator(".hover-tip").count()) === 0; x += 12) {
      await axis.hover({ position: { x, y: 36 } });
    }
    assert.match(await page.locator(".hover-tip").innerText(), /\w/, "a tip");
  },

  "41 advice on communication": async () => {
    const slot = await communication("advice");
    await findings(slot);
    const told = await v.api("view", { name: "communication_advice", limit: 5000 });
    assert.equal(await slot.locator(".finding").count(), Math.min(6, told.rows.length));
    // Late ranks, slow links, statistics: rows or a reason each.
    const each = await slot.locator(".card.flush").allInnerTexts();
    assert.ok(each.length === 3 && each.every((s) => s.trim().length > 40), each.join(" | "));
  },

  "42 order by a header": async () => {
    const slot = await durations();
    await sortBy(tableOf(slot, "Communication time by rank"), "Elapsed");
  },

  "43 operators of a rank": async () => {
    const slot = await durations();
    const times = tableOf(slot, "Communication time by rank");
    const number = Number((await cellsOf(times, "Rank"))[0]);
    const of = v.ranks.find((r) => r.rank === number);
    await row(times).click();
    const told = await v.api("view", { name: "communication_operators", rank: of.key });
    const table = tableOf(slot, "Communication operators, ");
    await row(table).waitFor();
    await v.idle(slot);
    assert.equal(await rowsOf(table), told.total);
  },

  "44 bandwidths": async () => {
    const slot = await durations();
    const told = await v
      .api("mode", { name: "communication_time_sum", table: "ClusterCommunicationBandwidth" })
      .catch(() => null);
    if ((told?.rows.length ?? 0) === 0) {
      assert.equal(
        await slot
          .locator(".table", { hasText: "Bandwidth of operators" })
          .locator(".grid-row")
          .count(),
        0,
      );
      skip("no bandwidths");
    }
    await row(tableOf(slot, "What each transport carried")).waitFor();
    await row(tableOf(slot, "Bandwidth of operators by transport")).waitFor();
  },

  "45 from communication to the timeline": async () => {
    const slot = await durations();
    await clickIn(
      slot.locator("canvas[aria-label^='Operators in time']"),
      async () => /tab=timeline/.test(page.url()),
      "a click on an operator leads to the timeline",
    );
    await toTimeline("the operator is selected");
  },

  "46 memory": async () => {
    const slot = await memory();
    const told = await own("memory_operators");
    await v.idle(slot);
    const table = tableOf(slot, "Memory by operator");
    assert.equal(await rowsOf(table), told.total);
    // What is held at the peak, and where the curve is clicked; a double click is none.
    const peak = await own("memory_operators", { which: "held" });
    assert.ok(peak.total > 0 && peak.total < told.total);
    await slot.getByRole("button", { name: "whose memory is held" }).click();
    await isLeft(table, peak.total);
    const said = slot.locator(".memory-held");
    assert.match(await said.innerText(), /at the peak, .* allocations .* the curve says/);
    const curves = slot.locator(".curves .u-over").first();
    const { width } = await curves.boundingBox();
    await curves.click({ position: { x: width * 0.9, y: 40 } });
    const { at } = await v.until(
      () => v.said("mem"),
      (s) => s.at !== undefined,
      "a click on the curve",
    );
    const then = await own("memory_operators", { which: "held", from: at, to: Number(at) + 1 });
    await isLeft(table, then.total);
    await curves.dblclick({ position: { x: width * 0.5, y: 40 } });
    await v.until(
      () => v.said("mem"),
      (s) => s.at === at,
      "a double click chooses no moment",
    );
  },

  "47 memory by stream and component": async () => {
    const slot = await memory();
    for (const by of ["stream", "component"]) {
      await slot.getByRole("group", { name: "Group by" }).getByRole("button", { name: by }).click();
      await v.until(
        () => v.said("mem"),
        (s) => s.by === by,
        by,
      );
      await v.idle(slot);
      const told = await orNone(own("memory_curve", { by, points: 8 }));
      await (told === null ? saysWhy(slot, /\w{4}/) : slot.locator(".curves").first().waitFor());
    }
  },

  "48 filter and reset of a table": async () => {
    const slot = await memory();
    const table = tableOf(slot, "Memory by operator");
    const told = await own("memory_operators", { filter: JSON.stringify({ name: "conv" }) });
    await v.idle(slot);
    const all = await rowsOf(table);
    await filter(table, { Name: "conv" });
    await isLeft(table, told.total);
    await table.getByRole("button", { name: "Order and filter as at first" }).click();
    await isLeft(table, all);
  },

  "49 from memory to the timeline": async () => {
    const slot = await memory();
    const table = tableOf(slot, "Memory by operator");
    await filter(table, { Name: "aten" });
    await v.idle(slot);
    await row(table).dblclick();
    await toTimeline("the operator is selected");
  },

  "51 only what is allocated in the zoomed span": async () => {
    const slot = await memory();
    await v.idle(slot);
    const table = tableOf(slot, "Memory by operator");
    const all = await rowsOf(table);
    const curves = slot.locator(".curves").first();
    const { x, y, width } = await curves.boundingBox();
    const zoom = async (from, to, before) => {
      await v.drag([x + width * from, y + 80], [x + width * to, y + 80]);
      return (
        await v.until(
          () => v.said("mem"),
          (s) => s.span !== undefined && s.span !== before,
          "zoomed",
        )
      ).span;
    };
    const once = await zoom(0.3, 0.6);
    const [from, to] = once.split(",");
    const told = await own("memory_operators", { from, to });
    assert.ok(told.total < all);
    await isLeft(table, told.total);
    await slot.getByLabel("Only operators that allocate").uncheck();
    await isLeft(table, all);
    // The right button goes one zoom back.
    await zoom(0.3, 0.6, once);
    for (const span of [once, undefined]) {
      await curves.click({ button: "right", position: { x: width / 2, y: 80 } });
      await v.until(
        () => v.said("mem"),
        (s) => s.span === span,
        "one zoom back",
      );
    }
  },

  "52 two filters at once": async () => {
    const slot = await memory();
    await v.idle(slot);
    const table = tableOf(slot, "Memory by operator");
    const told = await own("memory_operators", {
      filter: JSON.stringify({ name: "aten", size: [1 << 20, 1e15] }),
    });
    await filter(table, { Name: "aten", Size: ">= 1 MiB" });
    await isLeft(table, told.total);
  },

  "53 memory of a static graph": async () => skip("no graph of MindSpore"),

  "54 memory of another rank": async () => {
    const slot = await memory();
    await choice(slot, "Rank").selectOption(ready[1].key);
    await v.until(
      () => v.said("mem"),
      (s) => s.rank === ready[1].key,
      "another rank",
    );
    await v.idle(slot);
    const told = await v.api("view", { name: "memory_operators", rank: ready[1].key });
    await asAtFirst(tableOf(slot, "Memory by operator"));
    await isLeft(tableOf(slot, "Memory by operator"), told.total);
  },

  "55 peaks of components": async () => {
    const slot = await memory({ "mem.by": "component" });
    const told = await own("memory_components");
    const table = slot.locator(".table").last();
    await v.idle(slot);
    assert.equal(await rowsOf(table), told.total);
    assert.ok(falls(await cellsOf(table, "Peak")), "the largest first");
  },

  "56 operators by group and number": async () => {
    const slot = await operators();
    for (const [by, view] of [
      ["names", "operator_names"],
      ["shapes", "operator_shapes"],
      ["comm_types", "communication_types"],
      ["comm_names", "communication_names"],
      ["types", "operator_types"],
    ]) {
      await choice(slot, "Group by").selectOption(by);
      await v.idle(slot);
      const told = await orNone(own(view));
      if (told === null) {
        await saysWhy(slot, /\w{4}/);
      } else {
        await isLeft(slot.locator(".table").first(), told.total);
      }
    }
    const before = await picture(slot);
    await slot
      .getByRole("group", { name: "Top" })
      .getByRole("button", { name: "5", exact: true })
      .click();
    await v.until(
      () => v.said("op"),
      (s) => s.top === "5",
      "the first five",
    );
    if (kinds.total > 5) {
      await v.until(
        () => picture(slot),
        (now) => now !== before,
        "fewer bars",
      );
    }
  },

  "57 kernels of a group": async () => {
    const slot = await operators();
    const groups = slot.locator(".table").first();
    const n = numberOf((await cellsOf(groups, "Number"))[0]);
    if ((await cellsOf(groups, "Type"))[0] === "–") {
      skip("kernels without a type");
    }
    await row(groups).click();
    await isLeft(tableOf(slot, "Operator details"), n);
  },

  "59 operators of another rank or host": async () => {
    const slot = await operators();
    if (ready.length < 2) {
      assert.equal((await options(slot, "Rank")).length, 1);
      skip("one rank");
    }
    const hosts = new Set(v.ranks.map((r) => r.host));
    let rank = ready.at(-1);
    if (hosts.size > 1) {
      rank = ready.find((r) => r.host !== ready[0].host);
      await choice(slot, "Host").selectOption(rank.host);
    } else {
      await choice(slot, "Rank").selectOption(rank.key);
    }
    await v.until(
      () => v.said("op"),
      (s) => v.ranks.some((r) => r.key === s.rank && r.host === rank.host),
      "another rank",
    );
    await v.idle(slot);
    const { rank: key } = await v.said("op");
    const told = await v.api("view", { name: "operator_details", rank: key });
    await asAtFirst(tableOf(slot, "Operator details"));
    await isLeft(tableOf(slot, "Operator details"), told.total);
  },

  "61 theme": async () => {
    await v.open("operator");
    const ground = () =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.keyboard.press("Shift+D");
    await v.until(ground, (now) => now !== light, "dark");
    await page.keyboard.press("Shift+D");
    await v.until(ground, (now) => now === light, "light");
  },

  "62 language": async () => {
    await page.getByRole("button", { name: "English / 中文" }).click();
    await page.waitForFunction(() => document.documentElement.lang === "zh-CN");
    await v.shows("header [role=tab]", "时间线");
    await page.getByRole("button", { name: "中文 / English" }).click();
    await v.shows("header [role=tab]", "Timeline");
  },

  "63 help": async () => {
    await page.keyboard.press("?");
    await page.locator("dialog .help").waitFor();
    assert.ok((await page.locator("dialog .help kbd").count()) > 30);
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
  },

  "65 chart of reinforcement learning": async () => skip("no tasks of reinforcement learning"),

  "66 pipeline chart": async () => {
    const slot = await v.open("pipeline");
    const told = await orNone(v.api("chart", { cluster: 0 }));
    const names = slot.locator(".chart .names div", { hasText: /^stage \d+/ });
    await names.first().waitFor();
    if (told === null) {
      await saysWhy(slot, /pipeline/);
      await v.shows("#page-pipeline", "an example, nothing of this capture");
      skip("no pipeline");
    }
    const bubble = told.tables.find((t) => t.name === "PipelineBubble");
    const stages = new Set(bubble.rows.map((r) => r[column(bubble, "stage")]));
    assert.equal(await slot.getByText("an example, nothing of this capture").count(), 0);
    await v.until(
      () => names.count(),
      (n) => n === stages.size,
      `${stages.size} stages`,
    );
  },
};

// --- what needs another capture comes last: it stays open ------------------------------------------------------------------

Object.assign(PAGES, {
  "50 memory beside the baseline": async () => {
    await memory();
    await withOther();
    await compared(await memory({ "base.n": "1" }));
  },
  "58 operators beside the baseline": async () => {
    await operators();
    await withOther();
    await compared(await operators({ "base.n": "1" }));
  },
  "60 operators of another capture": async () => {
    await withOther();
    const slot = await operators();
    await choice(slot, "Rank").selectOption(other[0].key);
    await v.idle(slot);
    await isLeft(slot.locator(".table").first(), kinds.total);
  },
  "64 baseline": async () => {
    await withOther();
    await page.locator("header .opened").click();
    await page.getByRole("button", { name: "Make it the baseline" }).last().click();
    await v.shows("dialog .captures", "Baseline");
    await page.keyboard.press("Escape");
    await page.locator("#tab-compare").waitFor();
    const slot = await v.open("summary", { "base.n": "1" });
    if (hasSteps) {
      await compared(slot);
    }
  },
});
