/** A number that can be typed in peace: what is half typed stays while the page is drawn anew, and counts once it is left or Enter is
 * pressed, or an arrow of the field. */
import { useRef, useState } from "preact/hooks";

export interface NumberFieldProps {
  value: number | string | null;
  /** null: emptied. Not a number is not told. */
  set: (value: number | null) => void;
  label?: string;
  min?: number;
  max?: number;
  step?: number | "any";
  disabled?: boolean;
}

export function NumberField({ value, set, label, min, max, step, disabled }: NumberFieldProps) {
  // Kept apart from what is drawn: keys may come faster than frames.
  const draft = useRef<string | null>(null);
  const [, redraw] = useState(0);
  const commit = (): void => {
    const text = draft.current;
    if (text !== null) {
      draft.current = null;
      redraw((n) => n + 1);
      if (text.trim() === "" || Number.isFinite(Number(text))) {
        set(text.trim() === "" ? null : Number(text));
      }
    }
  };
  return (
    <input
      type="number"
      min={min}
      max={max}
      step={step}
      disabled={disabled}
      aria-label={label}
      value={draft.current ?? value ?? ""}
      onInput={(e) => (draft.current = e.currentTarget.value)}
      onChange={commit}
      onBlur={commit}
    />
  );
}
