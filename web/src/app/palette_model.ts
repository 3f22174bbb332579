/** What is typed into the palette: how well a text fits, and times. No document. */

const NS: Record<string, number> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  min: 6e10,
  m: 6e10,
  h: 3.6e12,
};

/** "12.5ms", "3 us" in ns; null: not a time. A number alone is none. */
function timeOf(text: string, fallback?: string): number | null {
  const found = /^(-?\d+(?:\.\d+)?)\s*(ns|us|µs|μs|ms|s|min|m|h)?$/.exec(text.trim());
  const unit = found?.[2] ?? fallback;
  return found === null || unit === undefined ? null : Math.round(Number(found[1]) * NS[unit]);
}

/** A time or a span of time: "12.5ms", "1s..1.5s", "10-20 ms". */
export function parseSpan(text: string): { from: number; to: number } | null {
  const plain = text.trim().replace(/^@/, "").toLowerCase();
  const at = timeOf(plain);
  if (at !== null) {
    return { from: at, to: at };
  }
  const found = /^(.+?)\s*(?:\.\.|–|-|~|to)\s*(.+)$/.exec(plain);
  if (found === null) {
    return null;
  }
  const unit = /[a-zµμ]+$/.exec(found[2])?.[0];
  const to = timeOf(found[2]);
  const from = timeOf(found[1], unit);
  return from === null || to === null || from === to
    ? null
    : { from: Math.min(from, to), to: Math.max(from, to) };
}

/** How well `text` fits what was typed, more is better; 0: not at all. All letters in order; whole words and beginnings count. */
export function fits(text: string, typed: string): number {
  const have = text.toLowerCase();
  const want = typed.trim().toLowerCase();
  if (want === "") {
    return 1;
  }
  const at = have.indexOf(want);
  if (at >= 0) {
    return (
      1000 -
      Math.min(500, at) -
      Math.min(300, have.length - want.length) +
      (at === 0 || /[^\p{L}\p{N}]/u.test(have[at - 1]) ? 200 : 0)
    );
  }
  const words = want.split(/\s+/);
  if (words.length > 1 && words.every((w) => have.includes(w))) {
    return 300 - Math.min(200, have.length / 4);
  }
  let from = 0;
  let jumps = 0;
  for (const letter of want.replace(/\s+/g, "")) {
    const next = have.indexOf(letter, from);
    if (next < 0) {
      return 0;
    }
    jumps += next - from;
    from = next + 1;
  }
  return Math.max(1, 100 - jumps * 4 - have.length / 8);
}
