/** Values of tables as people read them: one unit to a column, three significant digits, the exact value on hover. */
import { significant, withHyphen, withMinus } from "./time";

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
  /** null: three significant digits. */
  decimals: number | null;
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
  while (at > 0 && most / steps[at].size >= 1e5) {
    at--; // the largest would be too wide
  }
  return steps[at];
}

/** `sample`: values of the column that are known; the unit is the one that suits their middle. */
export function shownAs(
  name: string,
  type: "int" | "real" | "text",
  unit: string,
  exact: boolean,
  sample: number[],
): Shown {
  if (type === "text") {
    return { kind: "text", unit, per: 1, base: 0, decimals: null };
  }
  if (unit === "%") {
    return { kind: "percent", unit, per: 1, base: 0, decimals: 1 };
  }
  if (exact && (type === "int" || isInstant(name))) {
    return {
      kind: "plain",
      unit,
      per: 1,
      base: IN_NS[unit] ?? 0,
      decimals: type === "int" ? 0 : null,
    };
  }
  const ns = IN_NS[unit];
  if (ns !== undefined) {
    const instant = isInstant(name);
    const most = instant ? [Math.max(0, ...sample.map(Math.abs))] : sample;
    const step = stepFor(TIMES, most, ns);
    const per = step.size / ns;
    return instant
      ? {
          kind: "instant",
          unit: step.unit,
          per,
          base: ns,
          decimals: Math.min(6, Math.round(Math.log10(step.size))),
        }
      : {
          kind: "time",
          unit: step.unit,
          per,
          base: ns,
          decimals: step.size === 1 && type === "int" ? 0 : null,
        };
  }
  const bytes = IN_BYTES[unit];
  if (bytes !== undefined) {
    const step = stepFor(bytes === 1 ? SIZES : LINK_SIZES, sample, bytes);
    return {
      kind: "bytes",
      unit: step.unit,
      per: step.size / bytes,
      base: bytes,
      decimals: step.size === 1 ? 0 : null,
    };
  }
  if (type === "int") {
    return {
      kind: unit === "" && isIdentifier(name) ? "plain" : "count",
      unit,
      per: 1,
      base: 0,
      decimals: 0,
    };
  }
  return { kind: "measure", unit, per: 1, base: 0, decimals: null };
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
  const rounded = shown.decimals === null ? digitsOf(scaled) : scaled.toFixed(shown.decimals);
  const digits =
    /^-0(\.0*)?$/.test(rounded) && shown.kind === "percent" ? rounded.slice(1) : rounded;
  return withMinus(Math.abs(scaled) >= 1e4 ? grouped(digits) : digits);
}

/** Three digits that count, also below 1. */
function digitsOf(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || size >= 0.995) {
    return significant(value);
  }
  const decimals = Math.min(6, 2 - Math.floor(Math.log10(size)));
  return size < 5e-7 ? (value < 0 ? "-0" : "0") : value.toFixed(decimals);
}

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
      const room = shown.kind === "plain" || shown.kind === "count" ? 0 : Math.abs(value) * 0.005;
      return [value - room, value + room];
    }
  }
}
