// What the command line has for each table of the page. A source gives rows as objects, named as the command names them; `about` is what
// the page looks at: ranks, and the choices of its controls that the document's tables do not tell.
import { numberOf, unitsIn } from "./numbers_values.mjs";

const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
const text = (value) => `'${value.replaceAll("'", "''")}'`;
const plain = (name) =>
  name
    .toLowerCase()
    .replaceAll("%", "percent")
    .replaceAll("/s", "pers")
    .replaceAll("gb_s", "gbpers")
    .replace(/[^a-z0-9]/g, "");

const sum = (all) => all.reduce((a, b) => a + b, 0);
const mean = (all) => {
  const known = all.filter((v) => v !== null && v !== undefined);
  return known.length === 0 ? null : sum(known) / known.length;
};
const most = (all) => {
  const known = all.filter((v) => v !== null && v !== undefined);
  return known.length === 0 ? null : Math.max(...known);
};
const grouped = (rows, keyOf) => {
  const by = new Map();
  for (const row of rows) {
    by.set(keyOf(row), [...(by.get(keyOf(row)) ?? []), row]);
  }
  return by;
};

/** The command's name of a column of the page, with the unit or without; undefined: it has none. */
export function commandName({ name, unit }, row) {
  const known = new Map(Object.keys(row).map((key) => [plain(key), key]));
  return known.get(plain(name)) ?? known.get(plain(name + unit));
}

// --- tables of the server: views, modes, slices ---------------------------------------------------------------------------

const MOST_AT_ONCE = 5000;

/** A table of the server with all of its rows. */
export async function wholeTable(api, path, asked) {
  const table = await api(path, { ...asked, limit: MOST_AT_ONCE });
  while (table.rows.length < table.total) {
    const offset = table.rows.length;
    const more = await api(path, { ...asked, offset, limit: MOST_AT_ONCE });
    table.rows.push(...more.rows);
  }
  return table;
}

/** Counted from the rank's begin, as the page does. */
async function sinceOrigin(rows, view, rank, moments) {
  const names = Object.keys(rows[0] ?? {}).filter((name) => moments.has(`${view} ${name}`));
  const moved = (value) => (value === null ? null : Number(BigInt(value) - BigInt(rank.origin_ns)));
  return rows.map((row) => ({
    ...row,
    ...Object.fromEntries(names.map((name) => [name, moved(row[name])])),
  }));
}

/** What no table of the command has: the profiler's own measurements of kernels. tests/serve/test_tables.py compares them with the file. */
async function withMeasured(rows, asked, { api }) {
  if (!/^(kernel|operator)_details$/.test(asked.name)) {
    return rows;
  }
  const table = await wholeTable(api, "view", asked);
  const at = table.columns.map(([name]) => name);
  const slice = at.indexOf("slice");
  const known = new Map(table.rows.map((row) => [row[slice], row]));
  const missing = table.columns.filter(
    ([name, , unit]) => commandName({ name, unit }, rows[0] ?? {}) === undefined,
  );
  return rows.map((row) => ({
    ...row,
    ...Object.fromEntries(
      missing.map(([name]) => [name, known.get(row.slice)?.[at.indexOf(name)] ?? null]),
    ),
  }));
}

async function viewSource(asked, about) {
  const { cli, ranks } = about;
  const { name, rank: key, lang, leaf, by, ...rest } = asked;
  const others = Object.keys(rest);
  if (others.length > 0 || lang === "zh") {
    return null;
  }
  if (key === undefined) {
    return cli.rows(`SELECT * FROM ${quoted(name)}`);
  }
  const rank = ranks.find((r) => r.key === key);
  const also = [
    ...(leaf === undefined ? [] : [` AND leaf = ${text(leaf)}`]),
    ...(by === undefined ? [] : [` AND "by" = ${text(by)}`]),
  ];
  const rows = await cli.rows(
    `SELECT * FROM ${quoted(name)} WHERE rank = ${rank.rank}${also.join("")}`,
  );
  const own = rows === null ? null : await sinceOrigin(rows, name, rank, await about.moments);
  return own === null ? null : withMeasured(own, asked, about);
}

/** Slices that the server names, each with what the command says of it and of its arguments. */
async function slicesSource(path, asked, about) {
  const key = asked.rank ?? asked.ranks?.split(",")[0];
  const sides = [about, ...(about.baseline === undefined ? [] : [about.baseline])];
  const { api, cli, ranks } = sides.find((s) => s.ranks.some((r) => r.key === key)) ?? about;
  const table = await wholeTable(api, path, asked);
  const at = (name) => table.columns.findIndex(([column]) => column === name);
  const ids = grouped(table.rows, (row) => asked.rank ?? row[at("rank")]);
  // Of several ranks times count from the begin of the first one.
  const first = asked.ranks?.split(",")[0];
  const origin = first === undefined ? ranks[0] : ranks.find((r) => r.key === first);
  // And those of a rank that the page moved are later by that.
  const moved = new Map((asked.moved ?? "").split(",").map((part) => part.split(":")));
  const out = [];
  for (const [key, own] of ids) {
    const rank = ranks.find((r) => r.key === key || r.label === key);
    const { origin_ns } = asked.rank === undefined ? origin : rank;
    const which = own.map((row) => row[at("slice")]).join();
    const rows = await cli.rows(
      `SELECT id, name, kind, category, start_ns - ${origin_ns} + ${moved.get(rank.key) ?? 0} AS start, dur_ns AS duration, self_ns AS self, step FROM slice
        WHERE rank = ${rank.rank} AND id IN (${which})`,
    );
    const args = await cli.rows(
      `SELECT slice, key, value FROM arg WHERE rank = ${rank.rank} AND slice IN (${which})`,
    );
    const by = grouped(args ?? [], (arg) => arg.slice);
    // Moments among them are counted so, too.
    const valueOf = (value) =>
      typeof value === "bigint" ? Number(value - BigInt(origin_ns)) : value;
    // An argument that is called as a column of slices says what it is.
    const keyOf = (key, row) => (row[key] === undefined ? key : `${key} (argument)`);
    const argsOf = (row) =>
      (by.get(row.id) ?? []).map(({ key, value }) => [keyOf(key, row), valueOf(value)]);
    out.push(...rows.map((row) => ({ ...row, ...Object.fromEntries(argsOf(row)) })));
  }
  const none = Object.fromEntries(out.flatMap((row) => Object.keys(row).map((key) => [key, null])));
  return out.map((row) => ({ ...none, ...row }));
}

/** How long any of some slices runs. */
export function unionOf(slices) {
  let [union, end] = [0, -Infinity];
  for (const { start, duration } of [...slices].sort((a, b) => a.start - b.start)) {
    union += Math.max(0, start + duration - Math.max(start, end));
    end = Math.max(end, start + duration);
  }
  return union;
}

/** `own`: without what the row below covers in the lane, which the page draws it in. (self_ns of queries is without all inside on the thread.) */
function withOwnTimes(slices, table) {
  const at = (name) => table.columns.findIndex(([column]) => column === name);
  const places = new Map(
    table.rows.map((row) => [row[at("slice")], [row[at("lane")], row[at("row")]]]),
  );
  const rows = grouped(slices, (s) => places.get(s.id).join());
  rows.forEach((own) => own.sort((a, b) => a.start - b.start));
  return slices.map((s) => {
    const [lane, row] = places.get(s.id);
    const end = s.start + s.duration;
    const below = (rows.get(`${lane},${row + 1}`) ?? []).filter(
      (b) => b.start < end && b.start + b.duration > s.start,
    );
    const covered = unionOf(
      below.map((b) => {
        const start = Math.max(b.start, s.start);
        return { start, duration: Math.min(b.start + b.duration, end) - start };
      }),
    );
    return { ...s, own: s.duration - covered };
  });
}

/** Sums by name over the slices that lie in a box over all of the time. */
async function statsSource(asked, about) {
  const { rank, lanes, from, to } = asked;
  if (asked.name !== undefined) {
    return slicesSource("stats", asked, about);
  }
  const slices = withOwnTimes(
    await slicesSource("slices", { rank, lanes, from, to }, about),
    await wholeTable(about.api, "slices", { rank, lanes, from, to }),
  );
  return [...grouped(slices, (s) => s.name)].map(([name, own]) => {
    const all = own.map((s) => s.duration);
    return {
      name,
      "wall time": sum(all),
      "union time": unionOf(own),
      "self time": sum(own.map((s) => s.own)),
      average: sum(all) / all.length,
      max: Math.max(...all),
      min: Math.min(...all),
      occurrences: all.length,
    };
  });
}

async function callsSource(asked, about) {
  if (asked.node !== undefined) {
    return slicesSource("call_tree", asked, about);
  }
  return null;
}

const ROUTES = {
  view: viewSource,
  stats: statsSource,
  slices: (asked, about) => slicesSource("slices", asked, about),
  "search/table": (asked, about) => slicesSource("search/table", asked, about),
  call_tree: callsSource,
  query: (asked, { cli }) => cli.rows(asked.sql),
};

// --- tables that the page makes -------------------------------------------------------------------------------------------

/** Of the step and pipeline that are chosen; null: all. */
const chartTable = (name) => (_, about) => {
  const where = [
    ...(about.step === null ? [] : [`step = ${about.step}`]),
    ...(about.pipeline === null ? [] : [`pipeline = ${about.pipeline}`]),
  ];
  return about.cli.rows(
    `SELECT * FROM ${name}${where.length === 0 ? "" : ` WHERE ${where.join(" AND ")}`}`,
  );
};

/** The path goes from op to op, each ends what the next waits for; the command has the ops, and what of all of them computes and waits. */
async function pathSource({ columns, rows }, { cli, step, pipeline }) {
  const at = (name) => columns.findIndex((column) => column.name === name);
  const ops = await cli.rows("SELECT * FROM op WHERE step IS NOT NULL");
  const begins = new Map();
  for (const op of ops) {
    const key = `${op.step} ${op.pipeline}`;
    const begin = begins.get(key);
    begins.set(key, begin === undefined || op.start_ns < begin ? op.start_ns : begin);
  }
  // A column that the page leaves out has one value.
  const isAt = (cells, name, chosen, value) =>
    at(name) < 0 ? (chosen ?? value) === value : Number(cells[at(name)]) === value;
  const isOf = (cells, key) => {
    const [ofStep, ofPipeline] = key.split(" ").map(Number);
    return isAt(cells, "step", step, ofStep) && isAt(cells, "pipeline", pipeline, ofPipeline);
  };
  const since = (key, ns) => Number(BigInt(ns) - BigInt(begins.get(key)));
  const per = unitsIn(columns[at("start")].shown, "ns");
  const out = [];
  for (const key of begins.keys()) {
    const mine = rows.map(([, cells]) => cells).filter((cells) => isOf(cells, key));
    const own = ops.filter((op) => `${op.step} ${op.pipeline}` === key);
    const links = mine.map((cells) => {
      const start = numberOf(cells[at("start")]).value * per;
      return own
        .filter((op) => op.name === cells[at("op")] && String(op.rank) === cells[at("rank")])
        .map((op) => ({ ...op, start: since(key, op.start_ns), end: since(key, op.end_ns) }))
        .sort((a, b) => Math.abs(a.start - start) - Math.abs(b.start - start))[0];
    });
    out.push(...linksOf(links.filter((link) => link !== undefined)));
  }
  return out;
}

/** What each op of a path adds to the step, from the last to the first. */
function linksOf(links) {
  let until = links.at(-1)?.end ?? 0;
  return [...links]
    .reverse()
    .map((link, i, all) => {
      const next = all[i + 1];
      const ended = next?.end ?? 0;
      const isOther = next !== undefined && next.rank !== link.rank;
      const from = Math.min(until, isOther ? Math.max(link.start, ended) : link.start);
      const computing = until - from;
      until = Math.min(ended, from);
      const { step, pipeline, stage, rank, name, start } = link;
      return {
        step,
        pipeline,
        stage,
        rank,
        op: name,
        start,
        computing,
        "waiting before": from - until,
      };
    })
    .reverse();
}

/** Ops that compute, in the time of their step's first op. */
async function blocksSource(_, { cli, step, pipeline }) {
  const isShown = [
    ...(step === null ? [] : [` AND step = ${step}`]),
    ...(pipeline === null ? [] : [` AND pipeline = ${pipeline}`]),
  ].join("");
  return cli.rows(
    `SELECT step, pipeline, stage, rank, name AS op, microbatch, chunk, microbatch2, chunk2,
      start_ns - min_ns AS start, end_ns - min_ns AS "end", dur_ns AS duration
      FROM op JOIN (SELECT step AS of_step, pipeline AS of_pipeline, min(start_ns) AS min_ns FROM op GROUP BY step, pipeline)
        ON step = of_step AND pipeline = of_pipeline
      WHERE kind NOT IN ('SEND', 'RECV')${isShown}`,
  );
}

async function replaySource(_, { cli }) {
  const known = await cli.rows("SELECT * FROM PipelineReplay");
  const none = Object.fromEntries(Object.keys(known[0]).map((name) => [name, null]));
  const left = await cli.rows("SELECT * FROM PipelineNotReplayed");
  return [
    ...known.map((row) => ({ ...row, why: "" })),
    ...(left ?? []).map((row) => ({ ...none, ...row })),
  ];
}

const perMille = (us) => (us === null ? null : us * 1000);
const times = (value, by) => (value === null || value === undefined ? null : value * by);

/** Steps of ranks and stages: ClusterStepTraceTime in ns, how long each step is (ClusterTimeSummary) and its bubble (PipelineBubble). */
async function stepsOf({ cli, step }) {
  const [all, summary, bubble] = await Promise.all(
    ["ClusterStepTraceTime", "ClusterTimeSummary", "PipelineBubble"].map((name) =>
      cli.rows(`SELECT * FROM ${name}`),
    ),
  );
  const of = (table, row) =>
    (table ?? []).find((r) => r.rank === Number(row.index) && String(r.step) === String(row.step));
  const rows = all
    .filter((row) => step === null || String(row.step) === String(step))
    .map((row) => {
      const isRank = row.type === "rank";
      const whole = isRank ? times(of(summary, row)?.stepTime, 1000) : null;
      const parts = [row.computing, row.communication_not_overlapped, row.free].map(perMille);
      const used = parts.some((p) => p === null)
        ? null
        : sum(parts) + Math.max(0, times(row.preparing, 1000) ?? 0);
      const after = whole === null || used === null ? null : Math.max(0, whole - used);
      return {
        ...row,
        whole,
        after,
        bubbleNs: isRank ? (of(bubble, row)?.bubble_ns ?? null) : null,
      };
    });
  for (const row of rows.filter((r) => r.type === "stage")) {
    const members = row.index.replace(/[()]/g, "").split(",");
    const own = rows.filter(
      (r) => r.type === "rank" && r.step === row.step && members.includes(r.index),
    );
    Object.assign(row, {
      whole: most(own.map((r) => r.whole)),
      after: most(own.map((r) => r.after)),
      bubbleNs: most(own.map((r) => r.bubbleNs)),
      pp: new Set(own.map((r) => r.pp_index)).size === 1 ? own[0].pp_index : null,
    });
  }
  return rows;
}

function summaryRow(rows) {
  const [{ type, index, pp, dp_index, pp_index, tp_index }] = rows;
  const ns = (name) => times(mean(rows.map((r) => r[name])), 1000);
  const [computing, exposed, free] = ["computing", "communication_not_overlapped", "free"].map(ns);
  const whole =
    mean(rows.map((r) => r.whole)) ??
    (computing ?? 0) + (exposed ?? 0) + (free ?? 0) + Math.max(0, ns("preparing") ?? 0);
  const share = (part) => (part === null || whole <= 0 ? null : (100 * part) / whole);
  const name =
    pp === null || pp === undefined
      ? index.replace(/[()]/g, "").replaceAll(",", ", ")
      : `stage ${pp}`;
  return {
    index: type === "rank" ? index : `${name}, largest of its ranks`,
    type,
    dp: dp_index,
    pp: type === "rank" ? pp_index : pp,
    tp: tp_index,
    Step: mean(rows.map((r) => r.whole)),
    Computing: computing,
    Communication: ns("communication"),
    "Pure computing": computing === null ? null : computing - (ns("overlapped") ?? 0),
    Overlapped: ns("overlapped"),
    "Communication (not overlapped)": exposed,
    Free: free,
    "Before the first work": ns("preparing"),
    "After the last work": mean(rows.map((r) => r.after)),
    "Not overlapped, without receive": ns("communication_not_overlapped_and_exclude_receive"),
    "Stage (without receives)": ns("stage"),
    Receives: ns("bubble"),
    "Bubble of the pipeline": mean(rows.map((r) => r.bubbleNs)),
    "computing ratio": share(computing),
    "communication ratio": share(exposed),
  };
}

export async function summarySource(_, about) {
  const rows = await stepsOf(about);
  return [...grouped(rows, (r) => `${r.type} ${r.index}`).values()].map(summaryRow);
}

/** Ranks that differ only in what is folded: the largest, the least, and what lies between. */
async function foldedSource(_, about) {
  const ranks = (await summarySource(_, about)).filter((row) => row.type === "rank");
  const names = {
    computing: "Computing",
    communication: "Communication",
    exposed: "Communication (not overlapped)",
    free: "Free",
  };
  const boxes = grouped(ranks, (row) => about.kept.map((d) => row[d]).join());
  return [...boxes.values()].map((own) =>
    Object.fromEntries([
      ["ranks", own.map((row) => row.index).join(", ")],
      ...Object.entries(names).flatMap(([short, name]) => {
        const all = own.map((row) => row[name]).filter((ns) => ns !== null);
        const [max, min] = all.length === 0 ? [null, null] : [Math.max(...all), Math.min(...all)];
        return [
          [`${short} max`, max],
          [`${short} min`, min],
          [`${short} range`, max === null ? null : max - min],
        ];
      }),
    ]),
  );
}

const TOTAL = "Total Op Info";

const inGroup = (group, word) => (group === undefined ? "" : `${word} group_name = ${text(group)}`);

/** Links between ranks; those to a place of a group whose rank nobody knows are in no file, tests/serve/test_tables.py compares them. */
async function linksSource(_, { api, cli, cluster }) {
  const known = await cli.rows(
    `SELECT src_rank, dst_rank, transit_size, transit_time FROM ClusterCommunicationMatrix
      WHERE hccl_op_name = '${TOTAL}' AND src_rank <> dst_rank`,
  );
  if (known === null) {
    return null;
  }
  const groups = await cli.rows(
    "SELECT group_name, pg_name, rank_set FROM CommunicationGroupMapping",
  );
  const asked = {
    name: "communication_matrix_sum",
    table: "LinksOfUnknownRanks",
    limit: MOST_AT_ONCE,
  };
  const placed = await api("mode", { ...asked, cluster, nothing: 1 });
  const names = placed.columns?.map(([name]) => name);
  const strangers = (placed.rows ?? [])
    .map((row) => Object.fromEntries(row.map((cell, i) => [names[i], cell])))
    .filter((row) => row.hccl_op_name === TOTAL);
  const endOf = (row, side) => {
    const group = groups.find((g) => g.group_name === row.group_name);
    const text = [group?.pg_name, group?.rank_set].filter((part) => (part ?? "") !== "");
    return (
      row[`${side}_rank`] ??
      `rank not read: place ${row[`${side}_place`]} of ${text.join(" ") || row.group_name}`
    );
  };
  const rows = [...known, ...strangers].map((row) => ({
    ...row,
    source: String(endOf(row, "src")),
    destination: String(endOf(row, "dst")),
  }));
  return [...grouped(rows, (r) => `${r.source}\n${r.destination}`).values()].map((own) => {
    const [size, ms] = ["transit_size", "transit_time"].map((name) => sum(own.map((r) => r[name])));
    const { source, destination } = own[0];
    return {
      ...{ source, destination, bandwidth: ms > 0 ? size / ms : null },
      ...{ "transit size": size, "transit time": ms * 1e6 },
    };
  });
}

/** Sums of a rank: of what is not told nothing. Where a total does not say how long it waited, its operators do. */
export async function communicationTimes(_, { cli, group }) {
  const all = await cli.rows(`SELECT * FROM ClusterCommunicationTime${inGroup(group, " WHERE")}`);
  const keyOf = (r) => [r.step, r.rank_id, r.group_name].join("\n");
  const ofOps = grouped(
    all.filter((r) => r.hccl_op_name !== TOTAL && r.wait_time !== null),
    keyOf,
  );
  const totals = all
    .filter((r) => r.hccl_op_name === TOTAL)
    .map((r) => ({
      ...r,
      wait_time:
        r.wait_time ??
        (ofOps.has(keyOf(r)) ? sum(ofOps.get(keyOf(r)).map((o) => o.wait_time)) : null),
    }));
  return [...grouped(totals, (r) => r.rank_id)].map(([rank, own]) => {
    const knows = (name) => own.some((r) => r[name] !== null);
    const ns = (name) => sum(own.map((r) => (r[name] ?? 0) * 1e6));
    const isSplit = knows("transit_time");
    const share = (name) =>
      isSplit && ns(name) + ns("transit_time") > 0
        ? (100 * ns(name)) / (ns(name) + ns("transit_time"))
        : null;
    const hasSync = isSplit && knows("synchronization_time");
    return {
      rank,
      elapsed: ns("elapsed_time"),
      transit: isSplit ? ns("transit_time") : null,
      synchronization: hasSync ? ns("synchronization_time") : null,
      wait: isSplit || knows("wait_time") ? ns("wait_time") : null,
      rest: isSplit ? ns("idle_time") : null,
      "synchronization ratio": hasSync ? share("synchronization_time") : null,
      "wait ratio": share("wait_time"),
    };
  });
}

/** The profiler's own sum of these would count them twice. */
const OF_SDMA = ["HCCS", "PCIE", "SIO"];

const bandwidthsSource = (_, { cli, group }) =>
  cli.rows(
    `SELECT * FROM ClusterCommunicationBandwidth WHERE hccl_op_name = '${TOTAL}'${inGroup(group, " AND")}`,
  );

async function transportsSource(_, about) {
  const rows = await bandwidthsSource(_, about);
  const all = [...grouped(rows, (r) => r.band_type)].map(([transport, own]) => {
    const ops = [...grouped(own, (r) => [r.step, r.rank_id, r.group_name].join("\n")).values()].map(
      ([first]) => first,
    );
    const [size, time] = [
      sum(ops.map((r) => r.transit_size)),
      sum(ops.map((r) => r.transit_time * 1e6)),
    ];
    const packets = sum(own.map((r) => r.count ?? 0));
    const bandwidth = time > 0 ? (1e6 * size) / time : null;
    return { transport, "transit size": size, "transit time": time, bandwidth, packets };
  });
  const used = all.filter((r) => r["transit size"] > 0 || r.packets > 0);
  const isSum = used.some((r) => OF_SDMA.includes(r.transport));
  return used.filter((r) => r.transport !== "SDMA" || !isSum);
}

/** Nothing is counted of what has no slices of its own. */
const callTree = (name, isRank) => async (_, about) => {
  const where = isRank ? ` WHERE rank = ${about.rank.rank} AND "by" = '${about.by}'` : "";
  const rows = await about.cli.rows(`SELECT * FROM ${name}${where}`);
  const total = (row, time) => row[`${time}_total_ns`] ?? row[`${time}TotalNs`];
  const whole = rows?.find((row) => row.level === 0);
  // The page begins with the time of devices, where there is any.
  const time = whole !== undefined && total(whole, "device") > 0 ? "device" : "host";
  return rows?.map((row) => ({
    ...row,
    number: row.number === 0 ? null : row.number,
    share: (100 * total(row, time)) / total(whole, time),
  }));
};

const modulesSource = (_, { cli, rank }) =>
  cli.rows(`SELECT * FROM ModuleTree${rank === null ? "" : ` WHERE rankID = ${rank.rank}`}`);

// --- whatif and plan ------------------------------------------------------------------------------------------------------

/** Parts of the job: the slowdowns of the command, and what it answers when asked about each. */
const partsSource =
  (column, key, part) =>
  async (_, { cli }) => {
    const file = await cli.json("whatif");
    const [job] = await cli.rows("SELECT no_delay_ns, ideal_ns FROM whatif");
    const [real, ideal] = [job.no_delay_ns, job.ideal_ns];
    const rows = Object.entries(file[key]).map(async ([name, slowdown]) => {
      const { answer } = await cli.json("whatif", "--without", part(name));
      const without = answer[0].step_ns;
      const share = real > ideal ? (real - without) / (real - ideal) : null;
      return {
        [column]: column === "kind" ? name : Number(name),
        slowdown,
        share,
        alone: slowdown * ideal,
        without,
      };
    });
    return Promise.all(rows);
  };

const planSource = async (_, { cli, layers }) =>
  (await cli.json("plan", "--layers", layers)).stages;

/** As people are shown them: a name for each schedule, and of long lists of layers how often one stands there. */
async function planListSource(_, { cli, layers }) {
  const { schedules } = await cli.json("plan", "--layers", layers);
  return schedules.map((row) => ({
    "no.": row.number,
    step_ns: row.step_ns,
    gain: row.gain_share_percent,
    held: row.layers_held,
    "beaten by": row.beaten_by,
  }));
}

const planStagesSource = async (_, { cli, layers }) =>
  (await cli.json("plan", "--layers", layers)).schedule_stages;

// --- two captures ---------------------------------------------------------------------------------------------------------

const compared =
  (name) =>
  async (_, { cli, base }) =>
    (await cli.json("compare", base)).tables[name].map((row) =>
      typeof row["part of a step"] === "string"
        ? { ...row, "part of a step": row["part of a step"].trim() }
        : row,
    );

const NAMED = [
  "Kernel",
  "KernelType",
  "Operator",
  "OperatorHost",
  "Communication",
  "Module",
  "Copy",
  "Api",
];

async function slowerSource(_, about) {
  const tables = await Promise.all(
    ["KernelCompare", "CommunicationCompare", "CopyCompare"].map((name) =>
      compared(name)(_, about),
    ),
  );
  return tables
    .flat()
    .filter((row) => row.lost_ns > 0)
    .sort((a, b) => b.lost_ns - a.lost_ns || a.name.localeCompare(b.name))
    .slice(0, 10);
}

/** Of each rank of both: how long its steps are, and what its parts lost (view overview). */
async function ranksSource(_, { cli, baseCli }) {
  const steps = "SELECT rank, avg(dur_ns) AS ns FROM step GROUP BY rank";
  const [mine, theirs] = await Promise.all(
    [cli, baseCli].map(async (one) => ({
      rows: await one.rows("SELECT * FROM overview"),
      steps: new Map(((await one.rows(steps)) ?? []).map((r) => [r.rank, Math.round(r.ns)])),
    })),
  );
  const parts = {
    "in computing": "computing_ns",
    "not overlapped": "not_overlapped_ns",
    "in free": "free_ns",
    "before the first work": "preparing_ns",
    "after the last work": "after_ns",
  };
  return mine.rows.flatMap((row) => {
    const other = theirs.rows.find((r) => r.rank_id === row.rank_id);
    if (other === undefined) {
      return [];
    }
    const [now, base] = [
      mine.steps.get(row.rank_id) ?? row.e2e_ns,
      theirs.steps.get(row.rank_id) ?? other.e2e_ns,
    ];
    const lost = Object.entries(parts).map(([name, key]) => [
      name,
      row[key] === null || other[key] === null ? null : row[key] - other[key],
    ]);
    return [
      {
        rank: row.rank_id,
        stage: row.pp,
        new: now,
        base,
        lost: now - base,
        ...Object.fromEntries(lost),
      },
    ];
  });
}

/** What is open: how far it is read and what it takes of the server's memory are the page's own. */
const ranksOpen = (_, { cli }) =>
  cli.rows(
    `SELECT rank AS Rank, slices AS Slices, end_ns - start_ns AS Span, (SELECT count(*) FROM step s WHERE s.rank = r.rank) AS Steps FROM rank r`,
  );

/** What one side does not have is nothing of these, and not known of the others. */
const SUMS = ["number", "size", "total", "transit size", "transit time"];
const OF_BASE = / (base|difference|change)$/;

/** Each number beside that of the baseline: rows of both that agree in all other columns. */
async function besideSource(table, about) {
  const name = table.of.replace(/_beside$/, "");
  const compared = new Set(
    table.columns.filter((c) => OF_BASE.test(c.name)).map((c) => c.name.replace(OF_BASE, "")),
  );
  const own = table.columns.filter((c) => !OF_BASE.test(c.name));
  const [now, there] = await Promise.all(
    [about, about.baseline].map(async (side) => {
      const of = LOCAL[name] === undefined ? `/api/view?name=${name}&rank=${side.rank.key}` : name;
      const rows = (await sourceOf({ ...table, of, columns: own }, side)) ?? [];
      return rows.map((row) =>
        Object.fromEntries(own.map((c) => [c.name, row[commandName(c, row)] ?? null])),
      );
    }),
  );
  const keys = own.filter((c) => !compared.has(c.name)).map((c) => c.name);
  const keyOf = (row) => keys.map((key) => row[key]).join("\n");
  const left = new Map(there.map((row) => [keyOf(row), row]));
  const join = (mine, theirs) => {
    const row = { ...(theirs ?? {}), ...(mine ?? {}) };
    for (const column of compared) {
      const absent = SUMS.includes(column) ? 0 : null;
      const [a, b] = [mine, theirs].map((side) => (side === undefined ? absent : side[column]));
      const between = a === null || b === null ? null : a - b;
      Object.assign(row, {
        [column]: a,
        [`${column} base`]: b,
        [`${column} difference`]: between,
        [`${column} change`]: between === null || b === 0 ? null : (100 * between) / Math.abs(b),
      });
    }
    return row;
  };
  const both = now.map((row) => {
    const other = left.get(keyOf(row));
    left.delete(keyOf(row));
    return join(row, other);
  });
  return [...both, ...[...left.values()].map((row) => join(undefined, row))];
}

const LOCAL = {
  summary: summarySource,
  folded: foldedSource,
  links: linksSource,
  PipelineOps: blocksSource,
  communication_time: communicationTimes,
  transports: transportsSource,
  ClusterCommunicationBandwidth: bandwidthsSource,
  PipelineBubble: chartTable("PipelineBubble"),
  PipelineStep: chartTable("PipelineStep"),
  PipelineWaits: chartTable("PipelineWaits"),
  PipelineReplay: replaySource,
  PipelinePath: pathSource,
  calls: callTree("calls", true),
  CallTree: callTree("CallTree", false),
  CallTreeCallees: callTree("CallTreeCallees", false),
  CallTreeModules: callTree("CallTreeModules", false),
  ModuleTree: modulesSource,
  whatif_kinds: partsSource("kind", "slowdown_by_kind", (name) => `kind=${name}`),
  whatif_stages: partsSource("stage", "slowdown_by_stage", (name) => `stage=${name}`),
  whatif_replicas: partsSource("replica", "slowdown_by_dp", (name) => `replica=${name}`),
  whatif_repairs: async (_, { cli }) => (await cli.json("whatif")).repairs,
  plan_stages: planSource,
  plan_list: planListSource,
  plan_schedule_stages: planStagesSource,
  OverallCompare: compared("OverallCompare"),
  StepCompare: compared("StepCompare"),
  StageCompare: compared("StageCompare"),
  ...Object.fromEntries(NAMED.map((name) => [`${name}Compare`, compared(`${name}Compare`)])),
  RankCompare: ranksSource,
  slower: slowerSource,
  query: (_, { cli, sql }) => cli.rows(sql),
  ranks: ranksOpen,
};

/** The rows of a table; null: the command has none such; undefined: nobody knows where to look. */
export async function sourceOf(table, about) {
  const { of } = table;
  const found = /^\/api\/([^?]+)(?:\?(.*))?$/.exec(of);
  if (found === null && of.endsWith("_beside")) {
    return besideSource(table, about);
  }
  if (found === null) {
    return LOCAL[of] === undefined ? undefined : LOCAL[of](table, about);
  }
  const [, path, query = ""] = found;
  return ROUTES[path] === undefined
    ? undefined
    : ROUTES[path](Object.fromEntries(new URLSearchParams(query)), about);
}
