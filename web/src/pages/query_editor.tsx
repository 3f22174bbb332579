/** The field for a query: completion while it is typed, Ctrl+Enter asks it. All of it works by keys. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Schema } from "../api/types";
import { useAtom } from "../base/atom";
import { t } from "../words";
import { completionsAt, type Completions } from "./query_complete";
import { ask, draft } from "./query_state";

const NOTHING: Completions = { from: 0, to: 0, items: [] };
const LIST_PX = 340;

interface Field {
  current: HTMLTextAreaElement | null;
}

/** Where the caret is, from the field's corner: a copy of its text is laid out in the same way. */
function caretOf(field: HTMLTextAreaElement, at: number): { left: number; top: number } {
  const copy = document.createElement("div");
  const style = getComputedStyle(field);
  for (const name of [
    "font",
    "padding",
    "border",
    "lineHeight",
    "letterSpacing",
    "boxSizing",
  ] as const) {
    copy.style[name] = style[name];
  }
  copy.className = "query-copy";
  copy.style.width = `${field.clientWidth}px`;
  copy.textContent = field.value.slice(0, at);
  const mark = document.createElement("span");
  mark.textContent = "\u200b";
  copy.append(mark);
  field.parentElement!.append(copy);
  const place = {
    left: mark.offsetLeft,
    top: mark.offsetTop + mark.offsetHeight - field.scrollTop,
  };
  copy.remove();
  return place;
}

/** As if it were typed: it can be taken back with Ctrl+Z. */
function put(field: HTMLTextAreaElement, from: number, to: number, text: string): void {
  field.focus();
  field.setSelectionRange(from, to);
  if (!document.execCommand("insertText", false, text)) {
    field.setRangeText(text, from, to, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function useCompletion(field: Field, schema: Schema | null) {
  const [list, setList] = useState(NOTHING);
  const [chosen, setChosen] = useState(0);
  const close = (): void => setList(NOTHING);
  const open = (isAsked: boolean): void => {
    const node = field.current;
    if (node === null || schema === null || node.selectionStart !== node.selectionEnd) {
      return close();
    }
    const found = completionsAt(node.value, node.selectionStart, schema);
    const typed = node.value.slice(found.from, node.selectionStart).toLowerCase();
    // What is there already needs no list.
    const isWhole = found.items[0]?.text.toLowerCase() === typed;
    setChosen(0);
    setList(isWhole && !isAsked ? NOTHING : found);
  };
  const take = (i: number): void => {
    const item = list.items[i];
    if (item !== undefined && field.current !== null) {
      put(field.current, list.from, list.to, item.text);
      close();
    }
  };
  const move = (by: number): void =>
    setChosen((now) => (now + by + list.items.length) % list.items.length);
  return { list, chosen, open, close, take, move };
}

type Completion = ReturnType<typeof useCompletion>;

/** True: the key is done with. */
function listKey(e: KeyboardEvent, c: Completion): boolean {
  if (c.list.items.length === 0) {
    return false;
  }
  switch (e.key) {
    case "ArrowDown":
      c.move(1);
      return true;
    case "ArrowUp":
      c.move(-1);
      return true;
    case "Enter":
    case "Tab":
      if (e.ctrlKey || e.metaKey || e.shiftKey) {
        return false;
      }
      c.take(c.chosen);
      return true;
    case "Escape":
      c.close();
      return true;
    default:
      return false;
  }
}

export function QueryEditor({
  schema,
  wrongAt,
}: {
  schema: Schema | null;
  /** Where the query is wrong; null: it is not, or nobody knows where. */
  wrongAt: number | null;
}) {
  const text = useAtom(draft);
  const field = useRef<HTMLTextAreaElement>(null);
  const completion = useCompletion(field, schema);
  const { list, chosen } = completion;
  const place = useMemo(
    () =>
      list.items.length === 0 || field.current === null
        ? { left: 0, top: 0 }
        : caretOf(field.current, list.from),
    [list],
  );
  useEffect(() => {
    if (wrongAt !== null && field.current !== null) {
      const end = /^\w+/.exec(field.current.value.slice(wrongAt))?.[0].length ?? 1;
      field.current.focus();
      field.current.setSelectionRange(wrongAt, wrongAt + end);
    }
  }, [wrongAt]);
  const key = (e: KeyboardEvent): void => {
    const isCtrl = e.ctrlKey || e.metaKey;
    const isDone =
      isCtrl && e.key === "Enter"
        ? (completion.close(), ask(text), true)
        : isCtrl && e.key === " "
          ? (completion.open(true), true)
          : listKey(e, completion);
    if (isDone) {
      e.preventDefault();
      e.stopPropagation();
    }
  };
  const rows = Math.max(5, Math.min(16, text.split("\n").length + 1));
  return (
    <div class="query-editor">
      <textarea
        ref={field}
        id="query-text"
        rows={rows}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-label={t("query.editor")}
        aria-autocomplete="list"
        aria-controls="query-list"
        aria-expanded={list.items.length > 0}
        aria-activedescendant={list.items.length > 0 ? `query-item-${chosen}` : undefined}
        aria-invalid={wrongAt !== null}
        role="combobox"
        placeholder={t("query.placeholder")}
        value={text}
        onInput={(e) => {
          draft.set(e.currentTarget.value);
          completion.open(false);
        }}
        onKeyDown={key}
        onClick={completion.close}
        onBlur={completion.close}
        onScroll={completion.close}
      />
      <ul
        id="query-list"
        class="query-list"
        role="listbox"
        aria-label={t("query.completions")}
        hidden={list.items.length === 0}
        style={{
          left: `min(${place.left}px, max(0px, calc(100% - ${LIST_PX}px)))`,
          top: `${place.top}px`,
        }}
      >
        {list.items.map((item, i) => (
          <li
            key={item.text}
            id={`query-item-${i}`}
            role="option"
            aria-selected={i === chosen}
            ref={(node) => {
              if (i === chosen) {
                node?.scrollIntoView({ block: "nearest" });
              }
            }}
            onPointerDown={(e) => (e.preventDefault(), completion.take(i))}
          >
            <span class={`query-kind ${item.kind}`}>{t(`query.kind-${item.kind}`)}</span>
            <code>{item.text}</code>
            <span class="quiet note">{item.note}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
