/** Values of tables as people read them: one unit and one number of decimals to a column, the exact value on hover. */
import { rounded, significant, withHyphen, withMinus } from "./time";

export type Kind =
  "text" | "time" | "instant" | "bytes" | "percent" | "count" | "plain" | "measure";

/** How the numbers of one column are shown. */
export interface Shown {
  kind: Kind;
  /** Stands in the header: "ms", "GB". */
  unit: string;
  /** How many of the column's own unit make one that is shown. */
  per: number;
  /** Of its own unit in ns or bytes; 0: neither. */
  base: number;
  /** Behind the point of every value, so that points stand under one another. null: as many as the value has. */
  decimals: number | null;
  /** A value that is not 0 has no more decimals than that. */
  mostDecimals: number;
}

interface Step {
  unit: string;
  size: number;
}

const TIMES: Step[] = [
  { unit: "s", size: 1e9 },
  { unit: "ms", size: 1e6 },
  { unit: "µs", size: 1e3 },
  { unit: "ns", size: 1 },
];
/** Bytes that are counted: of memory, files, operands. */
const SIZES: Step[] = [
  { unit: "TiB", size: 2 ** 40 },
  { unit: "GiB", size: 2 ** 30 },
  { unit: "MiB", size: 2 ** 20 },
  { unit: "KiB", size: 2 ** 10 },
  { unit: "B", size: 1 },
];
/** Columns that the profiler has in MB (10^6): what links carried, beside their GB/s (10^9). */
const LINK_SIZES: Step[] = [
  { unit: "TB", size: 1e12 },
  { unit: "GB", size: 1e9 },
  { unit: "MB", size: 1e6 },
  { unit: "kB", size: 1e3 },
  { unit: "B", size: 1 },
];
const IN_NS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };
export const IN_BYTES: Record<string, number> = {
  bytes: 1,
  ...Object.fromEntries([...SIZES, ...LINK_SIZES].map(({ unit, size }) => [unit, size])),
  KB: 1e3,
};

/** Of values that are shown together: the binary unit that suits the largest. */
export const byteUnit = (largest: number): { unit: string; size: number } =>
  SIZES.find((s) => largest >= s.size) ?? SIZES[SIZES.length - 1];

/** "1.49 GiB". */
export function bytesText(bytes: number): string {
  const { unit, size } = byteUnit(bytes);
  return `${size === 1 ? String(bytes) : significant(bytes / size)} ${unit}`;
}

/** A point in time rather than a length: needs all its digits. "time" alone is a length. */
export const isInstant = (name: string): boolean =>
  /^(start|end|begin|stop|from|to|at|timestamp|ts)([ _](time|stamp|timestamp|ns|us))?$|^(active )?release$|[ _](start|end|at|timestamp)$/i.test(
    name,
  );

/** A number that names something: thousands are not set apart. */
const isIdentifier = (name: string): boolean =>
  /(^|[ _])(id|rank|step|stream|device|pid|tid|task|thread|process|slice|lane|index|level|port|stage)$/i.test(
    name,
  );

function stepFor(steps: Step[], values: number[], base: number): Step {
  const sizes = values
    .filter((v) => v !== 0 && Number.isFinite(v))
    .map((v) => Math.abs(v) * base)
    .sort((a, b) => a - b);
  if (sizes.length === 0) {
    // nothing but zeros: "0 ms" rather than "0 ns"
    return (
      steps.find((s) => s.size <= Math.max(base, steps === TIMES ? 1e6 : base)) ??
      steps[steps.length - 1]
    );
  }
  const middle = sizes[sizes.length >> 1];
  const most = sizes[sizes.length - 1];
  let at = steps.findIndex((s) => middle >= s.size);
  at = at < 0 ? steps.length - 1 : at;
  while (at > 0 && most / steps[at].size >= TOO_WIDE) {
    at--; // the largest would be too wide
  }
  return steps[at];
}

/** What is wider than that has a larger unit. */
const TOO_WIDE = 1e5;
/** What is wider than that has no smaller unit for the sake of another column. */
const WIDE = 1e4;
/** What is less of its unit has fewer than three digits that count: MOST_DECIMALS are behind the point. */
const LEAST = 0.1;

const largestOf = (sizes: readonly number[]): number =>
  sizes.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

/** Of columns that are read against one another: a sample whose unit they take. That of times is the unit of their middle, or a
 * smaller one in which fewer columns lose digits, as long as the largest is legible: 1200 ms beside 20.0 ms. As in src/write/out/column_units.h. */
export function sampleOf(unit: string, columns: readonly number[][]): number[] {
  const base = IN_NS[unit];
  const all = columns.flat();
  if (base === undefined || columns.length < 2) {
    return all;
  }
  const losers = ({ size }: Step): number =>
    columns.map((column) => base * largestOf(column)).filter((v) => v > 0 && v < LEAST * size)
      .length;
  let best = stepFor(TIMES, all, base);
  for (const step of TIMES.slice(TIMES.indexOf(best) + 1)) {
    const isLegible = base * largestOf(all) < WIDE * step.size;
    best = isLegible && losers(step) < losers(best) ? step : best;
  }
  return [best.size / base];
}

/** Of columns of sizes that stand beside one another: for each the sample whose unit it takes, the smallest in which no value is too wide
 * and none is less than one of its own unit; where a column has no values that of the largest. */
export function samplesAlike(unit: string, samples: number[][]): number[][] {
  const base = IN_BYTES[unit];
  if (base === undefined) {
    return samples;
  }
  const each = samples.map((sample) => ({
    sample,
    size: stepFor(base === 1 ? SIZES : LINK_SIZES, sample, base).size,
    most: base * largestOf(sample),
  }));
  const known = each.filter(({ most }) => most > 0).sort((a, b) => a.size - b.size);
  const fits = (one: (typeof each)[0] | undefined) =>
    known.find(({ size }) => one !== undefined && size <= one.size && one.most / size < TOO_WIDE);
  return each.map((one) => (fits(one.most > 0 ? one : known.at(-1)) ?? one).sample);
}

/** Of a column of a table. `sample`: values that its unit suits, of the column and of those that are read against it; the unit is the one
 * that suits their middle, so that most rows are read without counting zeros, unless it makes the largest too wide. Digits suit `own`,
 * the values of the column alone. */
export function shownAs(
  name: string,
  type: "int" | "real" | "text",
  unit: string,
  exact: boolean,
  sample: number[],
  own: number[] = sample,
): Shown {
  const shown = (kind: Kind, decimals: number | null, rest: Partial<Shown> = {}): Shown => ({
    kind,
    unit,
    per: 1,
    base: 0,
    decimals,
    mostDecimals: decimals ?? Infinity,
    ...rest,
  });
  const scaled = (kind: Kind, step: Step, base: number): Shown => {
    const per = step.size / base;
    const mostDecimals = type === "int" ? Math.round(Math.log10(per)) : Infinity;
    return withDigits(shown(kind, 0, { unit: step.unit, per, base, mostDecimals }), own);
  };
  if (type === "text") {
    return shown("text", null);
  }
  if (unit === "%") {
    return shown("percent", 1);
  }
  const ns = IN_NS[unit];
  if (exact && (type === "int" || isInstant(name))) {
    return shown("plain", type === "int" ? 0 : null, { base: ns ?? 0 });
  }
  if (ns !== undefined && isInstant(name)) {
    const step = stepFor(TIMES, [Math.max(0, ...sample.map(Math.abs))], ns);
    const decimals = Math.min(6, Math.round(Math.log10(step.size)));
    return shown("instant", decimals, { unit: step.unit, per: step.size / ns, base: ns });
  }
  if (ns !== undefined) {
    return scaled("time", stepFor(TIMES, sample, ns), ns);
  }
  const bytes = IN_BYTES[unit];
  if (bytes !== undefined) {
    return scaled("bytes", stepFor(bytes === 1 ? SIZES : LINK_SIZES, sample, bytes), bytes);
  }
  if (type === "int") {
    return shown(unit === "" && isIdentifier(name) ? "plain" : "count", 0);
  }
  return withDigits(shown("measure", 0, { mostDecimals: Infinity }), own);
}

/** Durations that stand under one another outside of a table of data. */
export const timesAs = (ns: number[], own = ns): Shown => shownAs("", "int", "ns", false, ns, own);

const PERCENT = shownAs("", "real", "%", false, []);
/** Of a column of percentages. */
export const shareText = (share: number): string => valueText(100 * share, PERCENT);

/** With as many decimals as more values of the column ask for: they may become more, never fewer. The same object where they stay. */
export function withDigits(shown: Shown, values: number[]): Shown {
  if (shown.decimals === null || shown.decimals >= shown.mostDecimals) {
    return shown;
  }
  const wanted = decimalsFor(
    values.map((v) => v / shown.per),
    shown.kind === "measure",
  );
  const decimals = Math.max(shown.decimals, Math.min(wanted, shown.mostDecimals));
  return decimals === shown.decimals ? shown : { ...shown, decimals };
}

/** Digits behind these are of no use, unless the whole column is smaller. */
const MOST_DECIMALS = 3;
/** Before and behind the point, of values that differ by little. */
const MOST_DIGITS = 5;

/** Decimals with which a value has so many digits that count. */
const decimalsOf = (value: number, digits: number): number =>
  // 9.996 is "10.0"
  Math.max(0, digits - 1 - Math.floor(Math.log10(value) + 2e-4));

/** The middle of the values has three digits that count; as far as that does not make the largest too long, the least quarter has two,
 * and values that differ by little of their size have so many that they differ. `isPlain`: where all are whole they are written so. */
function decimalsFor(values: number[], isPlain: boolean): number {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b);
  const sizes = known
    .filter((v) => v !== 0)
    .map(Math.abs)
    .sort((a, b) => a - b);
  if (sizes.length === 0 || (isPlain && sizes.every(Number.isInteger))) {
    return 0;
  }
  const largest = sizes[sizes.length - 1];
  const most = Math.max(MOST_DECIMALS, decimalsOf(largest, 3));
  const told = Math.min(most, decimalsOf(largest, MOST_DIGITS));
  const between = known[known.length - 1] - known[0];
  const ifTold = (decimals: number): number => (decimals <= told ? decimals : 0);
  return Math.max(
    Math.min(most, decimalsOf(sizes[sizes.length >> 1], 3)),
    ifTold(decimalsOf(sizes[sizes.length >> 2], 2)),
    between >= 10 ** -told ? Math.min(told, decimalsOf(between, 2)) : 0,
  );
}

/** Thin spaces between thousands: "12 401 233". */
export function grouped(digits: string): string {
  const [whole, rest] = digits.split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, "\u2009");
  return rest === undefined ? apart : `${apart}.${rest}`;
}

export function valueText(value: string | number | null, shown: Shown): string {
  if (value === null) {
    return "–";
  }
  if (typeof value === "string") {
    return value;
  }
  if (!Number.isFinite(value)) {
    return String(value);
  }
  const scaled = value / shown.per;
  if (shown.kind === "plain") {
    return withMinus(shown.decimals === 0 ? String(value) : plain(value));
  }
  if (value === 0) {
    return "0";
  }
  const digits = rounded(scaled, shown.decimals ?? 0);
  if (Number(digits) === 0) {
    const least = (10 ** -(shown.decimals ?? 0)).toFixed(shown.decimals ?? 0);
    return value < 0 ? `\u2212<${least}` : `<${least}`;
  }
  return withMinus(Math.abs(scaled) >= 1e4 ? grouped(digits) : digits);
}

/** What other values of the column have from their point on, for a text without one: it takes the same room, unseen, so that digits of
 * one worth stand under one another. */
export const restAfter = (text: string, { decimals }: Shown): string =>
  /^[\d\u2009\u2212]+$/.test(text) && decimals !== null && decimals > 0
    ? `.${"0".repeat(decimals)}`
    : "";

const plain = (value: number): string =>
  Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(12)));

/** The whole value with the unit that it has: for hovering. "" when the cell says it all. */
export const exactText = (value: string | number | null, shown: Shown, unit: string): string =>
  withMinus(exactly(value, shown, unit));

function exactly(value: string | number | null, shown: Shown, unit: string): string {
  if (value === null || typeof value === "string") {
    return "";
  }
  if (shown.kind === "time" || shown.kind === "instant") {
    const ns = value * shown.base;
    return `${grouped(String(Number.isInteger(ns) ? ns : Number(ns.toFixed(3))))} ns`;
  }
  if (shown.kind === "bytes") {
    const bytes = value * shown.base;
    return `${grouped(String(Number.isInteger(bytes) ? bytes : Number(bytes.toFixed(1))))} B`;
  }
  return shown.kind === "plain" && unit === ""
    ? ""
    : `${grouped(plain(value))}${unit === "" ? "" : ` ${unit}`}`;
}

export type Range = [least: number, most: number];

/** JSON has no infinity: as far as an exact integer of the server goes. */
export const FAR = 9e18;

/** What people type into the filter of a number column, in the unit that is shown or with one of their own:
 * "12", "> 5", "<=3ms", "10..20", "10 - 20us", ">1e3". Null: not understood. */
export function parseRange(text: string, shown: Shown): Range | null {
  const number = "([-\u2212]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?)\\s*([a-zµμ%]*)";
  const bound = new RegExp(`^(<=|>=|<|>|=|≤|≥)?\\s*${number}$`, "i").exec(text.trim());
  const pair = new RegExp(`^${number}\\s*(?:\\.\\.|–|-|~|to)\\s*${number}$`, "i").exec(text.trim());
  const own = (digits: string, unit: string): number | null => {
    const value = Number(withHyphen(digits));
    if (!Number.isFinite(value) || digits === "") {
      return null;
    }
    if (unit === "") {
      return value * shown.per;
    }
    const named = unit.replace("μ", "µ");
    const size =
      shown.kind === "bytes" ? IN_BYTES[named] : shown.base > 0 ? IN_NS[named] : undefined;
    if (size !== undefined) {
      return (value * size) / shown.base;
    }
    return named === shown.unit ? value * shown.per : null;
  };
  if (pair !== null) {
    const unit = pair[4];
    const least = own(pair[1], pair[2] !== "" ? pair[2] : unit);
    const most = own(pair[3], unit);
    return least === null || most === null ? null : [Math.min(least, most), Math.max(least, most)];
  }
  if (bound === null) {
    return null;
  }
  const value = own(bound[2], bound[3]);
  if (value === null) {
    return null;
  }
  switch (bound[1]) {
    case ">":
    case ">=":
    case "≥":
      return [value, FAR];
    case "<":
    case "<=":
    case "≤":
      return [-FAR, value];
    default: {
      // What is shown with few digits is met by what rounds to it.
      const last = (0.5 * shown.per) / 10 ** (shown.decimals ?? Infinity);
      const room =
        shown.kind === "plain" || shown.kind === "count"
          ? 0
          : Math.max(Math.abs(value) * 0.005, last);
      return [value - room, value + room];
    }
  }
}
