// What the command line says of a capture. Queries go to one prompt, which reads the capture once.
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Integers that a double does not hold are BigInt. */
function parsed(text) {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (one) =>
    /^-?\d{16,}$/.test(one) ? `"\\u0001${one}"` : one,
  );
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith("\u0001") ? whole(value.slice(1)) : value,
  );
}

function whole(digits) {
  const value = BigInt(digits);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

export class Command {
  #program;
  #path;
  #prompt;
  #text = "";
  #waits = [];
  #n = 0;
  #known = new Map();

  constructor(program, path) {
    this.#program = program;
    this.#path = path;
    this.#prompt = spawn(program, ["query", path, "-i", "--as", "json", "--quiet"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#prompt.stdout.setEncoding("utf8").on("data", (text) => this.#came(text));
    this.#prompt.on("exit", () => this.#waits.forEach(({ fail }) => fail(new Error("no prompt"))));
  }

  #came(text) {
    this.#text += text;
    while (this.#waits.length > 0) {
      const { mark, done } = this.#waits[0];
      const end = this.#text.indexOf(mark);
      if (end < 0) {
        return;
      }
      const said = this.#text.slice(0, end).trim();
      this.#text = this.#text.slice(end + mark.length);
      this.#waits.shift();
      done(said === "" ? null : parsed(said));
    }
  }

  #ask(sql) {
    const mark = `[\n {"end_of": ${++this.#n}}\n]\n`;
    return new Promise((done, fail) => {
      this.#waits.push({ mark, done, fail });
      this.#prompt.stdin.write(`${sql};\nSELECT ${this.#n} AS end_of;\n`);
    });
  }

  /** Rows of a query as objects; null: it fails, there is nothing of it. Asked once. */
  rows(sql) {
    if (!this.#known.has(sql)) {
      this.#known.set(sql, this.#ask(sql));
    }
    return this.#known.get(sql);
  }

  /** The JSON of another command about this capture; null: it fails. */
  json(command, ...options) {
    const key = [command, ...options].join(" ");
    if (!this.#known.has(key)) {
      this.#known.set(key, this.#run([command, this.#path, ...options, "--json", "--quiet"]));
    }
    return this.#known.get(key);
  }

  #run(args) {
    return new Promise((done) =>
      execFile(this.#program, args, { maxBuffer: 2 ** 30 }, (error, out) =>
        // 4: something of the capture is missing, which is said beside what there is.
        done(error !== null && error.code !== 4 ? null : parsed(out)),
      ),
    );
  }

  /** The chart of a schedule that takes as long as `used` of /api/simulate says. */
  async simulated({ schedule, stages, microbatches, p2p_ns, times }) {
    const folder = mkdtempSync(join(tmpdir(), "simulated-"));
    const [durations, chart] = ["durations.csv", "chart.json"].map((name) => join(folder, name));
    const kinds = ["F", "B", "BW", "FB"];
    const lines = times.flatMap((stage, s) => stage.map((ns, k) => `${s},${kinds[k]},${ns}\n`));
    writeFileSync(durations, lines.join(""));
    const shape = ["--pp", stages, "--microbatches", microbatches, "--p2p-us", p2p_ns / 1000];
    const args = [...shape, "--durations", durations, "-o", chart].map(String);
    await new Promise((done) => execFile(this.#program, ["simulate", schedule, ...args], done));
    const file = JSON.parse(readFileSync(chart, "utf8"));
    rmSync(folder, { recursive: true });
    return file;
  }

  /** Columns of tables of a rank that are moments: "table column". */
  async moments() {
    const text = await new Promise((done) =>
      execFile(this.#program, ["query", this.#path, "--schema", "--quiet"], (_, out) => done(out)),
    );
    const lines = text.split("\n").filter((line) => line.trimEnd().endsWith("since epoch"));
    return new Set(lines.map((line) => line.split(/\s+/).slice(0, 2).join(" ")));
  }

  end() {
    this.#prompt.stdin.end();
  }
}
