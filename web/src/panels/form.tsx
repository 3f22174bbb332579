/** Fields of forms: labelled selects, numbers, the rank that a page looks at. */
import type { Rank } from "../api/types";
import { useAtom } from "../base/atom";
import { ranks } from "../model/session";
import { inBrackets, rankWord, t } from "../words";

export interface SelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly Option<T>[] | readonly OptionGroup<T>[];
  onChange: (value: T) => void;
  title?: string;
}

export type Option<T extends string> = readonly [value: T, text: string];
export interface OptionGroup<T extends string> {
  name: string;
  options: readonly Option<T>[];
}

export function Select<T extends string>({
  label,
  value,
  options,
  onChange,
  title,
}: SelectProps<T>) {
  const option = ([name, text]: Option<T>) => (
    <option key={name} value={name}>
      {text}
    </option>
  );
  return (
    <label title={title}>
      {label}
      <select value={value} onChange={(e) => onChange(e.currentTarget.value as T)}>
        {options.map((one) =>
          "options" in one ? (
            <optgroup key={one.name} label={one.name}>
              {one.options.map(option)}
            </optgroup>
          ) : (
            option(one)
          ),
        )}
      </select>
    </label>
  );
}

export interface NumberProps {
  label: string;
  value: number;
  least: number;
  most: number;
  onChange: (value: number) => void;
  isWrong?: boolean;
  list?: string;
}

/** Whole numbers; what is typed counts as soon as it is one in range. */
export function NumberField({ label, value, least, most, onChange, isWrong }: NumberProps) {
  return (
    <label>
      {label}
      <input
        type="number"
        class={isWrong === true ? "wrong" : ""}
        aria-invalid={isWrong}
        min={least}
        max={most}
        value={value}
        onInput={(e) => {
          const next = Math.round(Number(e.currentTarget.value));
          if (
            e.currentTarget.value !== "" &&
            Number.isFinite(next) &&
            next >= least &&
            next <= most
          ) {
            onChange(next);
          }
        }}
      />
    </label>
  );
}

export interface SegmentsProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [value: T, text: string])[];
  onChange: (value: T) => void;
}

/** One of a few, all in sight. */
export function Segments<T extends string>({ label, value, options, onChange }: SegmentsProps<T>) {
  return (
    <span class="group" role="group" aria-label={label}>
      {options.map(([name, text]) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === value}
          onClick={() => onChange(name)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}

export function Check({
  label,
  checked,
  onChange,
}: {
  label: string;
  checked: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <label>
      <input
        type="checkbox"
        checked={checked}
        onChange={(e) => onChange(e.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

/** The rank that a page looks at: the one asked for, else the first that is ready. It may have to be read (rank_gate.tsx). */
export function useRank(key: string): Rank | null {
  const known = useAtom(ranks);
  return (
    known.find((r) => r.key === key) ?? known.find((r) => r.state === "ready") ?? known[0] ?? null
  );
}

/** Host before rank where there are several (T-19). */
export function RankPicker({
  rank,
  onChange,
}: {
  rank: Rank | null;
  onChange: (key: string) => void;
}) {
  const known = useAtom(ranks);
  const hosts = [...new Set(known.map((r) => r.host))];
  const here = hosts.length > 1 ? known.filter((r) => r.host === rank?.host) : known;
  return (
    <>
      {hosts.length > 1 && (
        <Select
          label={t("form.host")}
          value={rank?.host ?? ""}
          options={hosts.map((h) => [h, h === "" ? "–" : h] as const)}
          onChange={(host) => onChange(known.find((r) => r.host === host)?.key ?? "")}
        />
      )}
      <Select
        label={t("form.rank")}
        value={rank?.key ?? ""}
        options={here.map(
          (r) =>
            [
              r.key,
              r.state === "ready"
                ? rankWord(r.label)
                : rankWord(r.label) + inBrackets(t(`state.${r.state}`)),
            ] as const,
        )}
        onChange={onChange}
      />
    </>
  );
}
