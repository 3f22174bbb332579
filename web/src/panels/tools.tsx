/** The tools over the timeline: search, kinds of flows, filters of ranks and lanes, zoom. */
import { useEffect, useRef, useState } from "preact/hooks";
import { register } from "../model/commands";
import { afterLanes } from "../model/lanes_first";
import { get } from "../api/client";
import { useAtom } from "../base/atom";
import { grouped } from "../base/format";
import {
  counts,
  foundByCapture,
  findOpen,
  goTo,
  mistake,
  place,
  query,
  search,
  searching,
  step,
  type Query,
} from "../model/search";
import { box, boxLocked, ranks, session } from "../model/session";
import {
  flowKinds,
  MAX_FLOW_KINDS,
  moveWindow,
  resetWindow,
  undoZoom,
  viewport,
} from "../model/timeline";
import { lanesOf, touchTree, tree, treeChanged } from "../model/tree";
import { fail } from "../model/notices";
import { language, rankWord, t } from "../words";
import { Choices, type Choice } from "./choices";
import { Menu } from "./dialog";
import { Icon } from "./icons";
import { useTyped } from "./typed";

const DELAY_MS = 250;

function Search() {
  const q = useAtom(query);
  const found = useAtom(counts);
  const at = useAtom(place);
  const busy = useAtom(searching);
  const wrong = useAtom(mistake);
  const locked = useAtom(boxLocked);
  const [opened, known] = [useAtom(session), useAtom(ranks)];
  const captures = found === null ? null : foundByCapture(found, opened, known);
  const { text, type, took } = useTyped(q.text);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(
    () =>
      register([
        {
          id: "timeline.search",
          word: "search.focus",
          keys: ["/", "Ctrl+f"],
          run: () => field.current?.select(),
        },
        {
          id: "timeline.search-next",
          word: "search.next",
          keys: ["n", "F3"],
          run: () => void step("next", viewport.from),
        },
        {
          id: "timeline.search-previous",
          word: "search.previous",
          keys: ["Shift+N", "Shift+F3"],
          run: () => void step("previous", viewport.from),
        },
        {
          id: "timeline.search-list",
          word: "search.list",
          keys: ["Ctrl+Shift+f"],
          run: () => findOpen.set(true),
        },
      ]),
    [],
  );
  useEffect(() => {
    if (locked && query.get().text !== "") {
      void search(query.get());
    }
  }, [locked]);
  const begin = (next: Query): Promise<void> => {
    took(next.text);
    return search(next);
  };
  const later = (next: Query): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void begin(next), DELAY_MS);
  };
  const toggle = (name: "matchCase" | "word" | "regex" | "args", sign: string) => (
    <button
      type="button"
      class="flat tiny"
      aria-pressed={q[name]}
      title={t(`search.${name}`)}
      aria-label={t(`search.${name}`)}
      onClick={() => void begin({ ...q, text, [name]: !q[name] })}
    >
      {sign}
    </button>
  );
  return (
    <span class="search" role="search">
      <input
        ref={field}
        type="search"
        value={text}
        placeholder={t("search.hint")}
        aria-label={t("search.focus")}
        aria-invalid={wrong !== null}
        title={wrong ?? undefined}
        onInput={(e) => {
          type(e.currentTarget.value);
          later({ ...q, text: e.currentTarget.value });
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter") {
            clearTimeout(timer.current);
            const go = (): Promise<void> => step(e.shiftKey ? "previous" : "next", viewport.from);
            void (query.get().text === text ? go() : begin({ ...q, text }).then(go));
          }
        }}
      />
      {toggle("matchCase", "Aa")}
      {toggle("word", "ab\u0332")}
      {toggle("regex", ".*")}
      {toggle("args", "{}")}
      <button
        type="button"
        class="flat tiny"
        title={`${t("search.previous")} (Shift+N)`}
        aria-label={t("search.previous")}
        disabled={(found?.total ?? 0) === 0}
        onClick={() => void step("previous", viewport.from)}
      >
        <Icon name="up" />
      </button>
      <button
        type="button"
        class="flat tiny"
        title={`${t("search.next")} (N)`}
        aria-label={t("search.next")}
        disabled={(found?.total ?? 0) === 0}
        onClick={() => void step("next", viewport.from)}
      >
        <Icon name="down" />
      </button>
      <span class="search-count" aria-live="polite">
        {busy ? (
          "\u2026"
        ) : wrong !== null ? (
          <span class="bad" title={wrong}>
            {t("search.wrong")}
          </span>
        ) : found === null ? (
          ""
        ) : (
          <button
            type="button"
            class="flat"
            title={[t("search.list"), ...(captures ?? []).map(([name, n]) => `${name}: ${n}`)].join(
              "\n",
            )}
            onClick={() => findOpen.set(true)}
            onContextMenu={(e) => {
              e.preventDefault();
              void goTo(0);
            }}
          >
            {at < 0
              ? t("search.total", captures?.map(([, n]) => n).join(" + ") ?? found.total)
              : `${at + 1} / ${found.total}`}
          </button>
        )}
      </span>
    </span>
  );
}

/** So many ranks are asked for their kinds of flows. */
const MAX_FLOW_RANKS = 16;

function Flows() {
  const all = useAtom(ranks);
  const chosen = useAtom(flowKinds);
  const [kinds, setKinds] = useState<[string, number][]>([]);
  const ready = all.filter((r) => r.state === "ready").map((r) => r.key);
  // Kinds differ by what was recorded, which is alike in all ranks: some tell them all.
  const asked = ready.slice(0, MAX_FLOW_RANKS);
  const key = asked.join(",");
  useEffect(() => {
    const stop = new AbortController();
    afterLanes()
      .then(() =>
        Promise.all(
          asked.map((rank) =>
            get<{ kinds: [string, number][] }>("flows/kinds", { rank }, stop.signal),
          ),
        ),
      )
      .then((replies) => {
        const sums = new Map<string, number>();
        replies
          .flatMap((r) => r.kinds)
          .forEach(([kind, n]) => sums.set(kind, (sums.get(kind) ?? 0) + n));
        setKinds([...sums]);
      })
      .catch((error: unknown) => stop.signal.aborted || fail(error));
    return () => stop.abort();
  }, [key]);
  const choices: Choice[] = kinds.map(([kind, n]) => ({
    id: kind,
    text: kind,
    more: `${asked.length < ready.length ? "\u2265 " : ""}${grouped(String(n))}`,
  }));
  return (
    <Menu
      label={t("tools.flows")}
      align="left"
      text={chosen.length > 0 ? `${t("tools.flows")} (${chosen.length})` : t("tools.flows")}
    >
      {() =>
        choices.length === 0 ? (
          <p class="choice quiet">{t("tools.no-flows")}</p>
        ) : (
          <Choices
            label={t("tools.flows")}
            all={choices}
            chosen={new Set(chosen)}
            isPlain
            most={MAX_FLOW_KINDS}
            onChange={(now) => flowKinds.set([...(now ?? [])])}
          />
        )
      }
    </Menu>
  );
}

/** Names of processes and threads that are there in any rank that is read. */
function laneChoices(): Choice[] {
  const names = new Map<string, number>();
  for (const rank of ranks.get()) {
    for (const node of lanesOf(rank.key)?.nodes ?? []) {
      names.set(node.name, (names.get(node.name) ?? 0) + 1);
    }
  }
  return [...names].map(([name, n]) => ({
    id: name,
    text: name,
    ...(n > 1 ? { more: `\u00d7 ${n}` } : {}),
  }));
}

function Filters() {
  const all = useAtom(ranks);
  useAtom(treeChanged);
  const set = (change: () => void): void => {
    change();
    touchTree();
  };
  const count = (chosen: ReadonlySet<string> | null): string =>
    chosen === null ? "" : ` (${chosen.size})`;
  return (
    <>
      {all.length > 1 && (
        <Menu
          label={t("tools.ranks")}
          align="left"
          text={`${t("tools.ranks")}${count(tree.shownRanks)}`}
        >
          {() => (
            <Choices
              label={t("tools.ranks")}
              all={all.map((r) => ({
                id: r.key,
                text: rankWord(r.label),
                ...(r.host !== "" ? { more: r.host } : {}),
              }))}
              chosen={tree.shownRanks}
              onChange={(now) => set(() => (tree.shownRanks = now))}
            />
          )}
        </Menu>
      )}
      <Menu
        label={t("tools.lanes")}
        align="left"
        text={`${t("tools.lanes")}${count(tree.shownNames)}`}
      >
        {() => (
          <Choices
            label={t("tools.lanes")}
            all={laneChoices()}
            chosen={tree.shownNames}
            onChange={(now) => set(() => (tree.shownNames = now))}
          />
        )}
      </Menu>
    </>
  );
}

function Zoom() {
  const around = (factor: number): void => moveWindow((view) => view.zoom(factor, view.width / 2));
  return (
    <span class="group">
      <button
        type="button"
        title={`${t("tools.zoom-out")} (S)`}
        aria-label={t("tools.zoom-out")}
        onClick={() => around(0.5)}
      >
        {"\u2212"}
      </button>
      <button
        type="button"
        title={`${t("tools.zoom-in")} (W)`}
        aria-label={t("tools.zoom-in")}
        onClick={() => around(2)}
      >
        +
      </button>
      <button
        type="button"
        title={`${t("tools.undo")} (Backspace)`}
        aria-label={t("tools.undo")}
        onClick={undoZoom}
      >
        <Icon name="reset" />
      </button>
      <button type="button" title={`${t("tools.fit")} (Ctrl+0)`} onClick={resetWindow}>
        {t("tools.fit")}
      </button>
    </span>
  );
}

export function TimelineTools() {
  useAtom(language);
  const b = useAtom(box);
  const locked = useAtom(boxLocked);
  return (
    <div class="tools" role="toolbar" aria-label={t("tools.label")}>
      <Search />
      <Flows />
      <Filters />
      <button
        type="button"
        aria-pressed={locked}
        disabled={b === null}
        title={t("tools.lock-hint")}
        onClick={() => boxLocked.set(!locked)}
      >
        {t("tools.lock")}
      </button>
      <span class="spring" />
      <Zoom />
    </div>
  );
}
