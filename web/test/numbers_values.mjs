// What a text of the page says, beside the value that the command line has: each is the other rounded to the digits that are shown.

const SIZES = {
  ...{ ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 },
  ...{ B: 1, bytes: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  ...{ kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
};
/** A sentence of the program as the page writes it: with its µ and its minus. */
export const asShown = (sentence) =>
  sentence.replace(/(\d) us\b/g, "$1 µs").replace(/(^|[ (])-(?=\d)/g, "$1\u2212");

/** Files have 17 digits, so that only the last of them may differ. */
const RELATIVE = 1e-9;

/** How many of `own` make one of `shown`; NaN: they are of different kinds. */
export function unitsIn(shown, own) {
  const [a, b] = [SIZES[shown], SIZES[own]];
  return shown === own ? 1 : a === undefined || b === undefined ? NaN : a / b;
}

/** "12 401.50", "−3", "<0.01", "−<0.01", "+2.1 %": the number, its decimals, and what stands before it. null: it is none. */
export function numberOf(text) {
  const form = /^([+\u2212-]?)(<?)(\d[\d\u2009]*)(?:\.(\d+))?(?:e([+-]?\d+))?$/;
  const found = form.exec(text.trim());
  if (found === null) {
    return null;
  }
  const [, sign, than, whole, rest = "", power = "0"] = found;
  const digits = `${whole.replaceAll("\u2009", "")}${rest === "" ? "" : `.${rest}`}`;
  const isBelow = sign === "-" || sign === "\u2212";
  const decimals = rest.length - Number(power);
  const value = (isBelow ? -1 : 1) * Number(`${digits}e${power}`);
  return { than, decimals, value, isExact: than === "" && decimals === 0 && power === "0" };
}

/** Whether a number that is shown is a value: both in one unit. */
function isRounded(shown, value) {
  if (shown.than === "<") {
    return value / shown.value > 0 && Math.abs(value) < Math.abs(shown.value);
  }
  const room = 0.5 * 10 ** -shown.decimals;
  return Math.abs(shown.value - value) <= room + RELATIVE * Math.abs(value);
}

/** null: the text says the value; else what is wrong. `own`, `shown`: units of the value and of the text. */
export function faultOf(text, value, own = "", shown = own) {
  if (value === null || value === undefined) {
    return text === "\u2013" ? null : "is not known";
  }
  const said = numberOf(text);
  if (said === null) {
    return "shows no number";
  }
  if (typeof value === "bigint") {
    return said.isExact && text.replace("\u2212", "-") === String(value) ? null : "is another one";
  }
  const per = unitsIn(shown, own);
  if (Number.isNaN(per)) {
    return `is in ${shown} instead of ${own}`;
  }
  // What is written without digits behind the point is nothing at all, or a whole number of the column's own unit.
  if (text === "0") {
    return Math.abs(value) <= RELATIVE || (own === "" && value === 0) ? null : "is not 0";
  }
  return isRounded(said, value / per) ? null : "is another one";
}

/** "12.4 ms", "1.49 GiB", "3.2 %", "17": `value` in `own`. */
export function faultOfText(text, value, own) {
  const found = /^([^ ]+?) ?(ns|µs|ms|s|B|[KMGT]iB|%|×|GB\/s|MB)?$/.exec(text.trim());
  return found === null ? "shows no number" : faultOf(found[1], value, own, found[2] ?? own);
}

/** Another number, so much larger that three digits show it. */
export const larger = (value) =>
  typeof value !== "number"
    ? value
    : Number.isInteger(value) && value < 1000
      ? value + 1
      : value * 1.02;
