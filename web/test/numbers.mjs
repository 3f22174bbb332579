// node numbers.mjs CHROMIUM PIPESCOPE NAME URL PATH [BASE]: every number of the page is that of the command line. URL is what `pipescope serve` prints for
// the capture in PATH, with BASE as its baseline. NUMBERS_SAY=1 tells each table with how many of its numbers were compared.
import { launchUnseen, Viewer } from "./page.mjs";
import { canvases } from "./numbers_canvases.mjs";
import { Command } from "./numbers_command.mjs";
import { compare, findsWrong } from "./numbers_compare.mjs";
import { strangeTables, tablesOf } from "./numbers_document.mjs";
import { headlines } from "./numbers_headlines.mjs";
import { walk } from "./numbers_pages.mjs";
import { sourceOf } from "./numbers_sources.mjs";

const [executablePath, program, title, url, path, base] = process.argv.slice(2);
/** Faults of a table that are said; of a wrong unit all of them are the same. */
const MOST_SAID = 5;
/** As many rows are drawn at once as fit. */
const ROOM = { width: 1700, height: 2200 };

/** Of a schedule that is not recognised there is no simulation as measured: the page says so. */
const isRefused = (reply) => reply.status() === 409 && reply.url().endsWith("/api/simulate");
const OF_REFUSED = /status of 409/;

class Pages extends Viewer {
  asked = 0;

  async prepare() {
    const isCounted = (request) => /\/api\/(?!events)/.test(request.url());
    this.page.on("response", (reply) => {
      if (reply.status() >= 400 && !isRefused(reply)) {
        this.faults.push(`${reply.status()} ${reply.url()}`);
      }
    });
    this.page.on("request", (request) => isCounted(request) && this.asked++);
    for (const end of ["requestfinished", "requestfailed"]) {
      this.page.on(end, (request) => isCounted(request) && this.asked--);
    }
    this.page.setDefaultTimeout(20_000);
  }

  /** Nothing is asked for any more, and nothing says that it is still to come, for three frames. */
  async quiet() {
    const isQuiet = () =>
      this.page.evaluate(async () => {
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)));
        return document.querySelector("main [aria-busy=true], main [role=progressbar]") === null;
      });
    for (let quiet = 0, i = 0; quiet < 3; i++) {
      if (i > 3000) {
        throw new Error("the page does not come to rest");
      }
      quiet = (await isQuiet()) && this.asked === 0 ? quiet + 1 : 0;
    }
  }

  async look(hash) {
    await this.page.evaluate((to) => (location.hash = to), hash);
    await this.quiet();
  }
}

const browser = await launchUnseen(executablePath);
const viewer = await Pages.open(browser, url, ROOM);
// Pages of many ranks say of how many that are read their figures are; the command reads all.
await viewer.api("load", {}, { all: true });
await viewer.goto();

const sideOf = (command, cluster) => ({
  cli: command,
  cluster,
  api: viewer.api,
  moments: command.moments(),
  ranks: viewer.ranks.filter((r) => r.cluster === cluster),
});
const cli = new Command(program, path);
const baseCli = base === undefined ? null : new Command(program, base);
const about = {
  ...sideOf(cli, 0),
  ...(base === undefined ? {} : { base, baseCli, baseline: sideOf(baseCli, 1) }),
};

/** What a step of the walk looks at, and the same of the baseline. */
function lookedAt(step) {
  const own = { ...about, ...step.about };
  if (base !== undefined) {
    const rank = own.baseline.ranks.find((r) => r.rank === own.rank?.rank);
    own.baseline = { ...own.baseline, ...step.about, rank };
  }
  return own;
}

const faults = [];
const tables = new Set();
/** Kinds of tables of which it is known that a wrong number is found. */
const tried = new Set();
let [nCells, nSaid, nDrawn] = [0, 0, 0];

async function checkTable(name, table, own) {
  const source = await sourceOf(table, own);
  if (source === undefined) {
    return { faults: [`${name}: ${table.of}: no source on the command line is known`], n: 0 };
  }
  const found = compare(name, table, source);
  const kind = table.of.replace(/(rank|ranks|q|lanes|events)=[^&]*/g, "");
  if (found.n > 0 && !tried.has(kind)) {
    tried.add(kind);
    if (!findsWrong(name, table, source)) {
      found.faults.push(`${name}: ${table.of}: another number would be taken for right`);
    }
  }
  return found;
}

async function checkStep(step) {
  const { name } = step;
  const own = lookedAt(step);
  const said = await headlines(viewer, own, name);
  nSaid += said.n;
  const drawn = base === undefined ? await canvases(viewer, own, name) : { n: 0, faults: [] };
  nDrawn += drawn.n;
  faults.push(...said.faults, ...drawn.faults.slice(0, MOST_SAID));
  faults.push(
    ...(await strangeTables(viewer.page)).map((t) => `${name}: what is this table of? ${t}`),
  );
  for (const table of await tablesOf(viewer.page)) {
    const found = await checkTable(name, table, own);
    nCells += found.n;
    tables.add(`${name}: ${table.of}`);
    faults.push(...found.faults.slice(0, MOST_SAID));
    if (process.env.NUMBERS_SAY) {
      console.log(`${found.n}\t${name}: ${table.of}`);
    }
  }
}

try {
  for await (const step of walk(viewer, about)) {
    await checkStep(step);
  }
} catch (error) {
  faults.push(error.stack);
}
faults.push(...viewer.faults.filter((fault) => !OF_REFUSED.test(fault)));
await browser.close();
cli.end();
baseCli?.end();
for (const fault of faults) {
  console.error(`${title}: ${fault}`);
}
console.log(
  `${title}: ${nCells} numbers of ${tables.size} tables, ${nSaid} figures of sentences and tiles and ${nDrawn} of canvases compared, ${faults.length} faults`,
);
process.exitCode = faults.length > 0 ? 1 : 0;
