/** A list to tick, with a field that narrows it: kinds of flows, ranks, lanes. */
import { useState } from "preact/hooks";
import { t } from "../words";

export interface Choice {
  id: string;
  text: string;
  more?: string;
}

export interface ChoicesProps {
  label: string;
  all: readonly Choice[];
  /** null: every one. */
  chosen: ReadonlySet<string> | null;
  onChange: (chosen: ReadonlySet<string> | null) => void;
  /** So many at most can be ticked. */
  most?: number;
  /** Nothing ticked means nothing, not everything. */
  isPlain?: boolean;
}

export function Choices({
  label,
  all,
  chosen,
  onChange,
  most = Infinity,
  isPlain = false,
}: ChoicesProps) {
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const shown = all.filter((c) => c.text.toLowerCase().includes(wanted));
  const set = (id: string, on: boolean): void => {
    const next = new Set(chosen ?? all.map((c) => c.id));
    if (on) {
      next.add(id);
    } else {
      next.delete(id);
    }
    onChange(!isPlain && next.size >= all.length ? null : next);
  };
  const count = chosen === null ? all.length : chosen.size;
  return (
    <div role="group" aria-label={label}>
      {all.length > 8 && (
        <div class="choice">
          <input
            value={text}
            placeholder={t("choices.narrow")}
            aria-label={t("choices.narrow")}
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </div>
      )}
      {most === Infinity && (
        <div class="choice">
          <button
            type="button"
            onClick={() => onChange(isPlain ? new Set(all.map((c) => c.id)) : null)}
          >
            {t("choices.all")}
          </button>
          <button type="button" onClick={() => onChange(new Set())}>
            {t("choices.none")}
          </button>
          {text !== "" && (
            <button type="button" onClick={() => onChange(new Set(shown.map((c) => c.id)))}>
              {t("choices.these")}
            </button>
          )}
        </div>
      )}
      <div class="choices">
        {shown.slice(0, 500).map((c) => {
          const on = chosen === null || chosen.has(c.id);
          return (
            <label key={c.id} class="choice">
              <input
                type="checkbox"
                checked={on}
                disabled={!on && count >= most}
                onChange={(e) => set(c.id, e.currentTarget.checked)}
              />
              <span>{c.text}</span>
              {c.more !== undefined && <span class="quiet">{c.more}</span>}
            </label>
          );
        })}
        {shown.length > 500 && <p class="choice quiet">{t("detail.more", shown.length - 500)}</p>}
      </div>
    </div>
  );
}
