/** A choice of one among any number: of very many, such as the names of all operators of a thousand ranks, a list is no help and slow to make.
 * A field takes a part of the text then, and offers those that have it. */
import { useId, useMemo, useState } from "preact/hooks";
import { t } from "../words";
import { Select, type Option, type SelectProps } from "./form";
import { offered } from "./long_select_model";

const MOST_LISTED = 400;
/** Letters that the field is wide enough for. */
const MOST_WIDE = 48;

interface LongSelectProps<T extends string> extends SelectProps<T> {
  options: readonly Option<T>[];
}

export function LongSelect<T extends string>(p: LongSelectProps<T>) {
  return p.options.length <= MOST_LISTED ? <Select {...p} /> : <TypedSelect {...p} />;
}

/** What is typed counts once it is the text of an option; Enter takes the first that is offered for it. */
function TypedSelect<T extends string>({
  label,
  value,
  options,
  onChange,
  title,
}: LongSelectProps<T>) {
  const list = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const chosen = options.find(([name]) => name === value)?.[1] ?? "";
  const shown = typed === null ? [] : offered(options, typed, MOST_LISTED);
  const isWrong = typed !== null && shown.length === 0;
  const wide = useMemo(
    () => options.reduce((most, [, text]) => Math.max(most, text.length), 0),
    [options.length],
  );
  const take = (chosen: Option<T> | undefined): void => {
    if (chosen !== undefined) {
      setTyped(null);
      onChange(chosen[0]);
    }
  };
  return (
    <label title={title ?? t("form.type-part", options.length)}>
      {label}
      <input
        type="text"
        list={list}
        spellcheck={false}
        size={Math.min(wide, MOST_WIDE)}
        class={isWrong ? "wrong" : ""}
        aria-invalid={isWrong}
        value={typed ?? chosen}
        placeholder={chosen}
        onFocus={() => setTyped("")}
        onInput={(e) => {
          const text = e.currentTarget.value;
          setTyped(text);
          take(options.find(([, other]) => other === text));
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter" && typed !== null && typed !== "") {
            take(shown[0]);
          } else if (e.key === "Escape" && typed !== null && typed !== "") {
            e.stopPropagation();
            setTyped("");
          }
        }}
        onBlur={() => setTyped(null)}
      />
      <datalist id={list}>
        {shown.map(([name, text]) => (
          <option key={name} value={text} />
        ))}
      </datalist>
    </label>
  );
}
