/** Times as text and as ticks of an axis. */

export interface Unit {
  name: string;
  ns: number;
}

const UNITS: Unit[] = [
  { name: "s", ns: 1e9 },
  { name: "ms", ns: 1e6 },
  { name: "µs", ns: 1e3 },
  { name: "ns", ns: 1 },
];

/** The largest unit that leaves at least `least` before the point. */
export function unitFor(ns: number, least = 1): Unit {
  return UNITS.find((u) => Math.abs(ns) >= u.ns * least) ?? UNITS[3];
}

/** The page's one minus: digits are as wide as it, a hyphen is not. */
export const withMinus = (digits: string): string => digits.replace(/^-/, "\u2212");
/** A number that was typed, or copied from the page. */
export const withHyphen = (digits: string): string => digits.replace("\u2212", "-");

/** A sentence of the program with the page's signs: it writes "12.4 us" and "-3", since a terminal that has ASCII alone shows it, too. */
export const signed = (sentence: string): string =>
  sentence.replace(/(\d) us\b/g, "$1 µs").replace(/(^|[ (])-(?=\d)/g, "$1\u2212");

/** Enough digits to tell a half from what is next to it: behind its 5 there are only zeros. */
const MOST_DIGITS = 60;
const HALF = /^50*$/;

/** As the program rounds: what is exactly halfway goes to the even neighbour (6.25 is 6.2, 38.75 is 38.8); toFixed would go up. */
export function rounded(value: number, decimals: number): string {
  const up = value.toFixed(decimals);
  // Halves are rare, and all digits take their time.
  if (!Number.isInteger(value * 10 ** decimals * 2) || Number.isInteger(value * 10 ** decimals)) {
    return up;
  }
  const whole = value.toFixed(decimals + MOST_DIGITS);
  const cut = whole.slice(0, -MOST_DIGITS).replace(/\.$/, "");
  const isEven = Number(cut.slice(-1)) % 2 === 0;
  return isEven && HALF.test(whole.slice(-MOST_DIGITS)) ? cut : up;
}

/** So many digits behind the point; what rounds to zero has no sign. */
export const fixed = (value: number, decimals: number): string =>
  withMinus(rounded(value, decimals).replace(/^-(?=0(\.0*)?$)/, ""));
/** As many digits as a value has, at most six that count: ticks of an axis. */
export const short = (value: number): string => withMinus(String(Number(value.toPrecision(6))));

/** Three significant digits: "1.23", "12.3", "123", "1234". */
export function significant(value: number): string {
  const size = Math.abs(value);
  return fixed(value, size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : 2);
}

/** "12.4 ms" */
export function duration(ns: number): string {
  const unit = unitFor(ns);
  return unit.ns === 1
    ? withMinus(`${Math.round(ns)} ns`)
    : `${significant(ns / unit.ns)} ${unit.name}`;
}

/** More than that beside the three that count would be no sentence to read. */
const MOST_MORE_DIGITS = 2;

/** Two times in one unit, with two digits of their difference: "1.0051 s", "1.0000 s"; null: that takes too many digits. As in
 * src/write/report/comparison.c. */
export function durations(a: number, b: number): [string, string] | null {
  const unit = unitFor(Math.max(a, b));
  const plain =
    unit.ns === 1 ? 0 : (significant(Math.max(a, b) / unit.ns).split(".")[1]?.length ?? 0);
  let decimals = plain;
  for (
    let last = unit.ns / 10 ** plain;
    last > 1 && last > Math.floor(Math.abs(a - b) / 10);
    last /= 10
  ) {
    decimals++;
  }
  return decimals > plain + MOST_MORE_DIGITS
    ? null
    : [
        `${fixed(a / unit.ns, decimals)} ${unit.name}`,
        `${fixed(b / unit.ns, decimals)} ${unit.name}`,
      ];
}

/** A point in time: "1.234 s", "12.345 ms", "12.3 µs". */
export function moment(ns: number): string {
  const unit = unitFor(ns);
  return `${fixed(ns / unit.ns, unit.ns === 1 ? 0 : unit.ns > 1e3 ? 3 : 1)} ${unit.name}`;
}

/** A difference says which way it goes: "+12.4". */
export const signedText = (value: number, text: (value: number) => string): string =>
  `${value > 0 ? "+" : ""}${text(value)}`;
export const signedDuration = (ns: number): string => signedText(ns, duration);

/** "12 401 233 ns", with thin spaces. */
export function exact(ns: number): string {
  return withMinus(`${String(Math.round(ns)).replace(/\B(?=(\d{3})+$)/g, "\u2009")} ns`);
}

export function percent(share: number): string {
  return fixed(share * 100, 1);
}

export interface Axis {
  unit: Unit;
  stepNs: number;
  decimals: number;
}

/** Round ticks (1, 2 or 5 times a power of ten ns) at least `apart` pixels from one another. */
export function axisFor(nsPerPx: number, widthPx: number, endNs: number, apart = 90): Axis {
  const least = Math.max(1, nsPerPx * apart);
  const power = Math.round(Math.pow(10, Math.floor(Math.log10(least))));
  const stepNs =
    [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least * (1 - 1e-9)) ?? 10 * power;
  // No number before the point is longer than five digits: "100.4 ms", not "100400 µs".
  const unit = unitFor(Math.max(nsPerPx * widthPx, Math.abs(endNs) / 50), 2);
  const decimals = Math.max(0, Math.ceil(Math.log10(unit.ns / stepNs) - 1e-9));
  return { unit, stepNs, decimals };
}

export function tickText(ns: number, axis: Axis): string {
  return fixed(ns / axis.unit.ns, ns === 0 ? 0 : axis.decimals);
}

/** The ticks of an axis from one time to another. */
export function ticksIn(axis: Axis, fromNs: number, toNs: number): number[] {
  const first = Math.ceil(fromNs / axis.stepNs);
  const n = Math.floor(toNs / axis.stepNs) - first + 1;
  return Array.from({ length: Math.max(0, n) }, (_, k) => (first + k) * axis.stepNs);
}
