// Figures that stand in sentences and tiles, beside what the command line says. Each is { what, text, value, unit }: a text of the page and the value that it
// stands for; where `value` is a text the two are the same.
import { communicationTimes, unionOf } from "./numbers_sources.mjs";
import { asShown, faultOfText } from "./numbers_values.mjs";

const seen = (locator) => locator.filter({ visible: true });

/** Tiles of the page: the text of each by its name. */
async function factsOf(page) {
  const all = await seen(page.locator("dl.facts > div")).all();
  const pairs = all.map(async (one) => [
    await one.locator("dt").innerText(),
    await one.locator("dd").innerText(),
  ]);
  return new Map(await Promise.all(pairs));
}

const sentences = (page, selector) => seen(page.locator(selector)).allInnerTexts();

/** A pattern with a group for each figure; `values`: [value, unit] of each. */
function figuresIn(what, text, pattern, values) {
  const found = pattern.exec(text ?? "");
  return values.map(([value, unit], i) => ({
    what: `${what} ${i}`,
    text: found?.[i + 1] ?? text,
    value,
    unit,
  }));
}

const count = async (cli, sql) => (await cli.rows(sql))?.[0].n ?? null;

// --- summary --------------------------------------------------------------------------------------------------------------

async function capture({ page }, { cli, ranks }) {
  const facts = await factsOf(page);
  const info = await cli.rows("SELECT name, value FROM base_info");
  const infoOf = (name) => Number(info.find((row) => row.name === name)?.value ?? NaN);
  const spans = await cli.rows("SELECT start_ns, end_ns, slices FROM rank ORDER BY start_ns");
  let [covered, end] = [0n, 0n];
  for (const [from, to] of spans.map((r) => [BigInt(r.start_ns), BigInt(r.end_ns)])) {
    const begin = from > end ? from : end;
    covered += to > begin ? to - begin : 0n;
    end = to > end ? to : end;
  }
  const nSteps = await count(cli, "SELECT count(DISTINCT step) AS n FROM ClusterStepTraceTime");
  const hosts = infoOf("hosts");
  return [
    { what: "Ranks", value: await count(cli, "SELECT count(*) AS n FROM rank"), unit: "" },
    ...(hosts > 1 ? [{ what: "Hosts", value: hosts, unit: "" }] : []),
    ...(nSteps === null ? [] : [{ what: "Steps", value: nSteps, unit: "" }]),
    { what: "Collected", value: Number(covered), unit: "ns" },
    { what: "Slices", value: spans.reduce((sum, r) => sum + r.slices, 0), unit: "" },
    { what: "Data", value: infoOf("data size"), unit: "B" },
    { what: "Format", value: [...new Set(ranks.map((r) => r.format))].join(", ") },
  ].map((fact) => ({ ...fact, text: facts.get(fact.what) }));
}

async function findings({ page }, { cli }) {
  const report = await cli.json("report");
  if (report === null) {
    return [];
  }
  const [verdict] = await sentences(page, "section.card > p.verdict");
  const items = await seen(page.locator("section.card li.finding")).all();
  const shown = report.findings.slice(0, 6);
  const each = shown.slice(0, items.length).map(async (finding, i) => {
    const [lead, said] = await Promise.all([
      items[i].locator("p").first().innerText(),
      items[i].locator("p").nth(1).innerText(),
    ]);
    const rule = await items[i].locator("details p.quiet").first().textContent();
    const gain = /(?:up to )?(\S+ \S+) a step/.exec(lead)?.[1] ?? null;
    const known = finding.gain_ns;
    return [
      {
        what: `finding ${i + 1}`,
        text: lead.startsWith(`${i + 1}. ${finding.title}`) ? finding.title : lead,
        value: finding.title,
      },
      ...(known === null && gain === null
        ? []
        : [{ what: `gain of finding ${i + 1}`, text: gain ?? "", value: known, unit: "ns" }]),
      {
        what: `what finding ${i + 1} says`,
        text: asShown(finding.what).startsWith(said.trim()) ? "" : said,
        value: "",
      },
      {
        what: `rule of finding ${i + 1}`,
        text: rule.split(" (")[0],
        value: `${finding.value ?? "\u2013"}, the limit is ${finding.threshold ?? "\u2013"}`,
      },
    ];
  });
  return [
    { what: "verdict", text: verdict ?? "", value: asShown(report.verdict ?? "") },
    { what: "findings", text: String(items.length), value: shown.length, unit: "" },
    ...(await Promise.all(each)).flat(),
  ];
}

async function spreads({ page }, { cli, step }) {
  const rows = step === null ? await cli.rows("SELECT * FROM spread") : null;
  if (rows === null) {
    return [];
  }
  const wide = rows.filter((row) => row.share_of_mean_e2e_percent > row.threshold_percent);
  const said = await sentences(page, "ul.sentences li");
  return [
    { what: "spreads", text: String(said.length), value: wide.length, unit: "" },
    ...wide.flatMap((row, i) =>
      figuresIn(
        `spread of ${row.metric}`,
        said[i],
        /differs over the ranks by (\S+ \S+), (\S+ %) of a step: least on rank (\d+), most on rank (\d+)/,
        [
          [row.spread_ns, "ns"],
          [row.share_of_mean_e2e_percent, "%"],
          [row.rank_of_min, ""],
          [row.rank_of_max, ""],
        ],
      ),
    ),
  ];
}

const summary = async (viewer, about) =>
  (await Promise.all([capture, findings, spreads].map((of) => of(viewer, about)))).flat();

// --- pipeline -------------------------------------------------------------------------------------------------------------

const LENGTH = /^([\d.]+ (?:ns|\u00b5s|ms|s)) from first op to last$/;

async function pipeline({ page }, { cli, step, pipeline: number, used, own }) {
  const said = (await page.locator(".pl-what > p").innerText()).split(" \u00b7 ");
  const rows = await cli.rows("SELECT * FROM PipelineStep");
  const row = rows?.find((r) => r.step === step && r.pipeline === number);
  if (row === undefined) {
    return [];
  }
  const bubble = said.find((part) => /^bubble [\d.]+ %/.test(part));
  return [
    { what: "step", text: said.find((part) => /^step \d+$/.test(part)), value: `step ${step}` },
    {
      what: "length of the step",
      text: said.map((part) => LENGTH.exec(part)?.[1]).find((length) => length !== undefined),
      value: row.time_ns,
      unit: "ns",
    },
    ...(row.bubble_percent === null
      ? []
      : [
          {
            what: "bubble",
            text: /^bubble ([\d.]+ %)/.exec(bubble ?? "")?.[1],
            value: row.bubble_percent,
            unit: "%",
          },
        ]),
    ...(used === undefined ? [] : await simulation({ page }, cli, used, own)),
  ];
}

const lengthOf = ({ ops }) =>
  Math.max(...ops.map((op) => op.end_ns)) - Math.min(...ops.map((op) => op.start_ns));

/** What stands beside the form of a simulation. `own`: what the page used of the schedule that ran. */
async function simulation({ page }, cli, used, own) {
  const file = await cli.simulated(used);
  const step_ns = lengthOf(file);
  const replayed = await cli.simulated(own);
  const replayed_ns = lengthOf(replayed);
  const said = await seen(page.locator(".sim-out dd > b")).allInnerTexts();
  const beside = await seen(page.locator(".sim-compared")).innerText();
  const against = /: (.+?) \((.+? %)\) (?:less|more) than .*, (.+?) with a bubble of (.+?);/.exec(
    beside,
  );
  const idleOf = ({ ops }, length_ns) =>
    100 * (1 - ops.reduce((sum, op) => sum + op.end_ns - op.start_ns, 0) / length_ns);
  const by_ns = Math.abs(replayed_ns - step_ns);
  return [
    { what: "simulated step", text: said[0], value: step_ns, unit: "ns" },
    ...(by_ns === 0
      ? []
      : [
          { what: "between it and the replay", text: against?.[1], value: by_ns, unit: "ns" },
          { what: "its share", text: against?.[2], value: (100 * by_ns) / replayed_ns, unit: "%" },
          { what: "replayed step", text: against?.[3], value: replayed_ns, unit: "ns" },
          {
            what: "replayed bubble",
            text: against?.[4],
            value: idleOf(replayed, own.stages * replayed_ns),
            unit: "%",
          },
        ]),
    {
      what: "simulated bubble",
      text: said[1],
      value: idleOf(file, used.stages * step_ns),
      unit: "%",
    },
  ];
}

// --- whatif, calls, comparison --------------------------------------------------------------------------------------------

async function whatif({ page }, { cli, question }) {
  const facts = await factsOf(page);
  const [job] = await cli.rows("SELECT * FROM whatif");
  const file = await cli.json("whatif");
  const { causes, job: shape } = file;
  const text = (name) => facts.get(name);
  const tiles = [
    ["Step, measured", job.measured_ns, "ns"],
    ["Replayed", job.no_delay_ns, "ns"],
    ["Ideal", job.ideal_ns, "ns"],
    ["Slowdown", file.slowdown, ""],
  ];
  const shares = Object.entries({ M_W: "slowest workers", M_S: "last stage" }).map(
    ([key, words]) => {
      const name = [...facts.keys()].find((fact) => fact.toLowerCase().includes(words));
      return { what: name ?? words, text: text(name), value: file[key], unit: "" };
    },
  );
  const items = await seen(page.locator("li.finding")).allInnerTexts();
  const said = causes.flatMap((cause, i) =>
    cause.figure === null
      ? [
          {
            what: `cause ${cause.cause}`,
            text: /: -?[\d.]+, threshold/.test(items[i]) ? items[i] : "",
            value: "",
          },
        ]
      : figuresIn(`cause ${cause.cause}`, items[i], /: (\S+), threshold ([\d.]+)/, [
          [Math.abs(cause.figure) < 0.005 ? 0 : cause.figure, ""],
          [cause.threshold, ""],
        ]),
  );
  return [
    ...figuresIn("Workers", text("Workers"), /^(\d+) = (\d+) stages? \u00d7 (\d+) replicas?$/, [
      [shape.workers, ""],
      [shape.pp_size, ""],
      [shape.dp_size, ""],
    ]),
    { what: "Steps", text: /^\d+/.exec(text("Steps") ?? "")?.[0], value: shape.steps, unit: "" },
    ...tiles.map(([name, value, unit]) => ({ what: name, text: text(name), value, unit })),
    { what: "Waste", text: text("Waste"), value: file.waste_percent, unit: "%" },
    ...shares,
    ...(question === undefined ? [] : await answer({ page }, cli, question)),
    { what: "causes", text: String(items.length), value: causes.length, unit: "" },
    ...said,
  ];
}

/** What a question is answered: the sentence below the form. */
async function answer({ page }, cli, { without, scale }) {
  const [asked] = (await cli.json("whatif", "--without", without, "--scale", scale)).answer;
  const said = await seen(
    page.locator("section.card", { hasText: "What if …" }).locator("p.verdict"),
  ).innerText();
  return figuresIn("answer", said, /^A step takes (\S+ \S+): (\S+ \S+) (?:less|more) \((\S+) %\)/, [
    [asked.step_ns, "ns"],
    [Math.abs(asked.gain_ns), "ns"],
    [Math.abs(asked["gain share_percent"]), ""],
  ]);
}

/** The tile of what is chosen: at first all of them. */
async function calls({ page }, { cli, rank, by }) {
  if (rank === null || by !== "callers") {
    return [];
  }
  const facts = await factsOf(page);
  const [all] = await cli.rows(`SELECT * FROM calls WHERE rank = ${rank.rank} AND node = 0`);
  return [
    ["Devices, with all below", all.device_total_ns, all.device_total_ns],
    ["Threads, with all below", all.host_total_ns, all.host_total_ns],
    ["Devices, itself", all.device_self_ns, all.device_total_ns],
    ["Threads, itself", all.host_self_ns, all.host_total_ns],
  ].flatMap(([name, ns, whole]) =>
    whole > 0
      ? figuresIn(name, facts.get(name), /^(.+), (.+)$/, [
          [ns, "ns"],
          [(100 * ns) / whole, "%"],
        ])
      : [],
  );
}

async function compare({ page }, { cli, base }) {
  const file = await cli.json("compare", base);
  const [first] = file?.tables.OverallCompare ?? [];
  const [said] = await sentences(page, "p.verdict");
  if (first === undefined) {
    return [];
  }
  const { new_ns: now, base_ns: there } = first;
  return figuresIn(
    "verdict",
    said,
    /takes (\S+ \S+) (?:longer|less): (\S+ \S+) instead of (\S+ \S+) \((\S+) times/,
    [
      [Math.abs(now - there), "ns"],
      [now, "ns"],
      [there, "ns"],
      [now / there, ""],
    ],
  );
}

/** What lies in the box: how many, their sum, how long any of them ran. */
async function boxSums({ page }, { boxed }) {
  const [said] = await sentences(page, ".slice-list .panel-bar span:nth-of-type(2)");
  return figuresIn(
    "sums of the box",
    said,
    /^([^ ]+) slices?, ([^ ]+ [^ ]+) in sum, ([^ ]+ [^ ]+) covered/,
    [
      [boxed.length, ""],
      [boxed.reduce((sum, r) => sum + r.duration, 0), "ns"],
      [unionOf(boxed), "ns"],
    ],
  );
}

/** Fields of the slice that is chosen: times in short, and to the ns behind. */
async function sliceFields({ page }, { slice }) {
  const rows = await seen(page.locator("table.fields").first().locator("tr")).all();
  const pairs = rows.map(async (row) => [
    await row.locator("th").innerText(),
    await row.locator("td").innerText(),
  ]);
  const fields = new Map(await Promise.all(pairs));
  const both = (name, ns) =>
    figuresIn(name, fields.get(name), /^([^ ]+ [^ ]+) ([^ ]+ ns)$/, [
      [ns, "ns"],
      [ns, "ns"],
    ]);
  return [
    ...both("Start", slice.start),
    ...both("Wall duration", slice.duration),
    ...(slice.step === null
      ? []
      : [{ what: "Step", text: fields.get("Step"), value: slice.step, unit: "" }]),
    {
      what: "Raw start",
      text: fields.get("Raw start (ns)"),
      value: String(slice.start_ns),
    },
    { what: "Raw end", text: fields.get("Raw end (ns)"), value: String(slice.end_ns) },
  ];
}

/** Who communicates at least a tenth less than the longest of a group, at most three of them. */
async function communication({ page }, about) {
  if (about.group === undefined) {
    return [];
  }
  const times = await communicationTimes(null, about);
  const longest = Math.max(...times.map((r) => r.elapsed));
  const slow = times
    .filter((r) => longest > 0 && longest - r.elapsed >= 0.1 * longest)
    .sort((a, b) => a.elapsed - b.elapsed)
    .slice(0, 3);
  const said = await sentences(page, "ul.sentences li");
  return [
    { what: "slow ranks", text: String(said.length), value: slow.length, unit: "" },
    ...slow.flatMap((r, i) =>
      figuresIn(
        `slow rank ${r.rank}`,
        said[i],
        /^Rank (\d+) communicates (\S+ \S+) less than the longest \((\S+ %)\)/,
        [
          [r.rank, ""],
          [longest - r.elapsed, "ns"],
          [(100 * (longest - r.elapsed)) / longest, "%"],
        ],
      ),
    ),
  ];
}

const timeline = async (viewer, about) =>
  about.boxed !== undefined
    ? boxSums(viewer, about)
    : about.slice !== undefined
      ? sliceFields(viewer, about)
      : [];

const PAGES = { summary, pipeline, whatif, calls, compare, communication, timeline };

/** Faults of the figures of a page, and how many there are. */
export async function headlines(viewer, about, name) {
  const of = PAGES[/^\w+/.exec(name)[0]];
  const all = of === undefined ? [] : await of(viewer, about);
  const faults = all.flatMap(({ what, text, value, unit }) => {
    const fault =
      text === undefined
        ? "is not on the page"
        : typeof value === "string"
          ? text === value
            ? null
            : "is another one"
          : faultOfText(text, value, unit);
    return fault === null
      ? []
      : [`${name}: ${what} ${fault}: ${text} on the page, ${value} ${unit ?? ""} of the command`];
  });
  return { faults, n: all.length };
}
