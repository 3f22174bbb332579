/** A number that can be typed in peace: what is half typed stays while the page is drawn anew, and counts once it is left or Enter is
 * pressed, or an arrow of the field. */
import { useRef, useState } from "preact/hooks";
import { withHyphen } from "../base/time";

/** "-10 %" and "x0.9" of a value; null: the text is no such change. */
export function changedBy(text: string, of: number): number | null {
  const plain = withHyphen(text.trim());
  const percent = /^([+-]\d*\.?\d+) ?%$/.exec(plain);
  const times = /^[x×*] ?(\d*\.?\d+)$/i.exec(plain);
  const factor =
    percent !== null ? 1 + Number(percent[1]) / 100 : times !== null ? Number(times[1]) : NaN;
  return Number.isNaN(factor) ? null : of * factor;
}

export interface NumberFieldProps {
  value: number | string | null;
  /** null: emptied. Not a number is not told. */
  set: (value: number | null) => void;
  label?: string;
  min?: number;
  max?: number;
  step?: number | "any";
  disabled?: boolean;
  /** What a relative change is one of: with it "-10 %" and "x0.9" are taken, too. */
  own?: number;
}

/** Of fields that take more than numbers, which have no arrows of their own. */
const ARROWS: Partial<Record<string, number>> = { ArrowUp: 1, ArrowDown: -1 };

export function NumberField(p: NumberFieldProps) {
  const { value, set, label, min, max, step, disabled, own } = p;
  // Kept apart from what is drawn: keys may come faster than frames.
  const draft = useRef<string | null>(null);
  const [, redraw] = useState(0);
  const commit = (): void => {
    const text = draft.current;
    if (text !== null) {
      draft.current = null;
      redraw((n) => n + 1);
      const changed = own === undefined ? null : changedBy(text, own);
      if (changed !== null || text.trim() === "" || Number.isFinite(Number(text))) {
        set(changed ?? (text.trim() === "" ? null : Number(text)));
      }
    }
  };
  const move = (e: KeyboardEvent): void => {
    const by = ARROWS[e.key];
    const now = Number(draft.current ?? value ?? 0);
    if (own !== undefined && by !== undefined && Number.isFinite(now)) {
      e.preventDefault();
      draft.current = String(Math.max(min ?? -Infinity, now + by));
      commit();
    }
  };
  return (
    <input
      type={own === undefined ? "number" : "text"}
      inputMode="decimal"
      min={min}
      max={max}
      step={step}
      disabled={disabled}
      aria-label={label}
      value={draft.current ?? value ?? ""}
      onInput={(e) => (draft.current = e.currentTarget.value)}
      onKeyDown={move}
      onChange={commit}
      onBlur={commit}
    />
  );
}
