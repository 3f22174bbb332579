// What tests of the page take, for whoever asks with PIPESCOPE_TIMES=1: the time, and of the processor what node, the browser and the server
// (its process is PIPESCOPE_SERVER) use of it.
import { readdirSync, readFileSync } from "node:fs";

/** Ticks of getconf CLK_TCK, 100 a second wherever Linux has /proc. */
const TICK_MS = 10;

function processes() {
  const all = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // Those of children that have ended are counted with their parents.
      const ticks = fields.slice(11, 15).reduce((sum, n) => sum + Number(n), 0);
      all.set(Number(pid), { parent: Number(fields[1]), ms: ticks * TICK_MS });
    } catch {
      // It has ended meanwhile.
    }
  }
  return all;
}

function used() {
  const all = processes();
  const isBelow = (pid) =>
    all.get(pid)?.parent === process.pid || (all.has(pid) && isBelow(all.get(pid).parent));
  let browser = 0;
  for (const [pid, { ms }] of all) {
    browser += pid !== process.pid && isBelow(pid) ? ms : 0;
  }
  const { user, system } = process.cpuUsage();
  return {
    wall: performance.now(),
    node: (user + system) / 1000,
    browser,
    server: all.get(Number(process.env.PIPESCOPE_SERVER))?.ms ?? 0,
  };
}

const isAsked = process.env.PIPESCOPE_TIMES === "1";
let last = isAsked ? { wall: 0, node: 0, browser: 0, server: 0 } : null;

/** A line with what was used since the last call, where it is asked for. */
export function spent(what) {
  if (isAsked) {
    const now = used();
    const parts = Object.entries(now).map(([name, ms]) => `${name} ${Math.round(ms - last[name])}`);
    console.log(`# ${parts.join(" ")} ms: ${what}`);
    last = now;
  }
}
