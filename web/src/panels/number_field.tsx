/** A number that can be typed in peace: what is half typed stays while the page is drawn anew, and counts once it is left or Enter is
 * pressed. */
import { useState } from "preact/hooks";

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
  const [draft, setDraft] = useState<string | null>(null);
  const commit = (): void => {
    if (draft !== null) {
      setDraft(null);
      const typed = Number(draft);
      if (draft.trim() === "" || Number.isFinite(typed)) {
        set(draft.trim() === "" ? null : typed);
      }
    }
  };
  return (
    <input type="number" min={min} max={max} step={step} disabled={disabled} aria-label={label} value={draft ?? value ?? ""}
      onInput={(e) => setDraft(e.currentTarget.value)} onChange={commit} onBlur={commit} onKeyDown={(e) => e.key === "Enter" && commit()} />
  );
}
