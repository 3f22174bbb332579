/** Ctrl+K: commands, pages, ranks, lanes and times, found by what is typed. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../api/client";
import type { LaneNode } from "../api/types";
import { duration } from "../base/time";
import { fail } from "../model/notices";
import { goto, load, rankOf, ranks, tab } from "../model/session";
import { openView, views, viewsOf } from "../model/views";
import { Dialog } from "../panels/dialog";
import { inBrackets, rankWord, t } from "../words";
import { commands, isOffered, refusalOf } from "../model/commands";
import { Keys } from "./help";
import { fits, parseSpan } from "./palette_model";
import { openCaptureIds } from "./views";
import { jumpToMarker, markerName, markers, systemRank } from "../model/timeline";

interface Entry {
  id: string;
  group: string;
  text: string;
  keys?: string[];
  /** Why it cannot be run now. */
  refusal?: string | null;
  run: () => void;
}

const isRefused = (entry: Entry): boolean => (entry.refusal ?? null) !== null;

/** Lanes are asked for once a rank, when the palette is first opened. */
const lanesOf = new Map<string, Promise<LaneNode[]>>();
const MOST_RANKS = 16;
const MOST_SHOWN = 60;

function commandEntries(): Entry[] {
  const seen = new Set<string>();
  return [...commands()]
    .sort((a, b) => Number(isOffered(b)) - Number(isOffered(a)))
    .filter((c) => c.id !== "frame.palette" && !seen.has(c.id) && seen.add(c.id))
    .map((c) => ({
      id: c.id,
      group: t("palette.command"),
      text: t(c.word),
      keys: c.keys,
      refusal: refusalOf(c),
      run: c.run,
    }));
}

function rankEntries(): Entry[] {
  return ranks.get().map((r) => ({
    id: `rank ${r.key}`,
    group: t("palette.rank"),
    text:
      r.state === "ready"
        ? rankWord(r.label)
        : rankWord(r.label) + inBrackets(t(`state.${r.state}`)),
    run: () => {
      tab.set("timeline");
      if (r.state === "ready") {
        goToRank(r.key);
      } else {
        load([r.key]).then(() => whenRead(r.key, () => goToRank(r.key)), fail);
      }
    },
  }));
}

function viewEntries(): Entry[] {
  return viewsOf(views.get(), openCaptureIds()).here.map((view) => ({
    id: `view ${view.made} ${view.address}`,
    group: t("palette.view"),
    text: view.note === "" ? view.name : `${view.name}: ${view.note}`,
    run: () => openView(view),
  }));
}

function markerEntries(): Entry[] {
  return markers.get().map((m) => ({
    id: `marker ${m.id}`,
    group: t(m.to === null ? "palette.marker" : "palette.region"),
    text: markerName(m),
    run: () => jumpToMarker(m),
  }));
}

function goToRank(key: string): void {
  lanes(key).then((nodes) => {
    const first = nodes.find((n) => n.lane >= 0);
    if (first !== undefined) {
      goto.set({ lane: { rank: key, lane: first.lane } });
      systemRank.set(key);
    }
  }, fail);
}

/** Once, and not at all where it cannot be read: its row says why. */
function whenRead(key: string, then: () => void): void {
  const look = (): void => {
    const state = rankOf(key)?.state;
    if (state === "ready" || state === "failed") {
      stop();
      if (state === "ready") {
        then();
      }
    }
  };
  const stop = ranks.listen(look);
  look();
}

function lanes(rank: string): Promise<LaneNode[]> {
  const known =
    lanesOf.get(rank) ?? get<{ nodes: LaneNode[] }>("lanes", { rank }).then((reply) => reply.nodes);
  lanesOf.set(rank, known);
  known.catch(() => lanesOf.delete(rank));
  return known;
}

function laneName(nodes: LaneNode[], node: LaneNode): string {
  const parts = [node.name];
  for (let up = node.parent; up >= 0 && parts.length < 3; up = nodes[up].parent) {
    parts.unshift(nodes[up].name);
  }
  return parts.join(" › ");
}

async function laneEntries(): Promise<Entry[]> {
  const ready = ranks
    .get()
    .filter((r) => r.state === "ready")
    .slice(0, MOST_RANKS);
  const found = await Promise.all(ready.map(async (r) => ({ r, nodes: await lanes(r.key) })));
  return found.flatMap(({ r, nodes }) =>
    nodes
      .filter((n) => n.lane >= 0)
      .map((n) => ({
        id: `lane ${r.key} ${n.lane}`,
        group: t("palette.lane"),
        text:
          ready.length > 1 ? `${rankWord(r.label)} › ${laneName(nodes, n)}` : laneName(nodes, n),
        run: () => {
          tab.set("timeline");
          goto.set({ lane: { rank: r.key, lane: n.lane } });
        },
      })),
  );
}

function timeEntry(typed: string): Entry[] {
  const span = parseSpan(typed);
  return span === null
    ? []
    : [
        {
          id: "time",
          group: t("palette.time"),
          text:
            span.from === span.to
              ? t("palette.go-to", duration(span.from))
              : t("palette.show-span", duration(span.from), duration(span.to)),
          run: () => {
            tab.set("timeline");
            goto.set({ span });
          },
        },
      ];
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const [lanesFound, setLanes] = useState<Entry[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const fixed = useMemo(
    () => [...commandEntries(), ...viewEntries(), ...markerEntries(), ...rankEntries()],
    [],
  );
  useEffect(() => {
    laneEntries().then(setLanes, () => undefined); // without lanes it is still of use
  }, []);
  const found = useMemo(() => {
    const isTyped = typed.trim() !== "";
    const all = isTyped ? [...fixed, ...lanesFound] : fixed.filter((e) => !isRefused(e));
    const scored = all
      .map((entry) => ({ entry, score: fits(entry.text, typed) }))
      .filter((s) => s.score > 0);
    scored.sort(
      (a, b) => Number(isRefused(a.entry)) - Number(isRefused(b.entry)) || b.score - a.score,
    );
    return [...timeEntry(typed), ...scored.map((s) => s.entry)];
  }, [typed, lanesFound]);
  const shown = found.slice(0, MOST_SHOWN);
  useEffect(
    () => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }),
    [at, typed],
  );
  const run = (entry: Entry | undefined): void => {
    if (entry !== undefined && !isRefused(entry)) {
      onClose();
      entry.run();
    }
  };
  const key = (e: KeyboardEvent): void => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      e.preventDefault();
      setAt(shown.length === 0 ? 0 : (at + step + shown.length) % shown.length);
    } else if (e.key === "Enter") {
      e.preventDefault();
      run(shown[at]);
    }
  };
  return (
    <Dialog title={t("command.palette")} onClose={onClose}>
      <div class="palette" onKeyDown={key}>
        <input
          autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={shown[at] === undefined ? undefined : `palette-${at}`}
          aria-label={t("command.palette")}
          placeholder={t("palette.hint")}
          spellcheck={false}
          value={typed}
          onInput={(e) => {
            setTyped(e.currentTarget.value);
            setAt(0);
          }}
        />
        <div class="palette-list" id="palette-list" role="listbox" ref={list}>
          {shown.map((entry, i) => (
            <div
              key={entry.id}
              id={`palette-${i}`}
              role="option"
              aria-selected={i === at}
              aria-disabled={isRefused(entry)}
              class="palette-item"
              onClick={() => run(entry)}
              onPointerMove={() => i !== at && setAt(i)}
            >
              <span class="palette-group">{entry.group}</span>
              <span class="palette-text" title={entry.text}>
                {entry.text}
              </span>
              {isRefused(entry) ? (
                <span class="quiet">{entry.refusal}</span>
              ) : (
                entry.keys !== undefined &&
                entry.keys.length > 0 && <Keys keys={entry.keys.slice(0, 2)} />
              )}
            </div>
          ))}
          {shown.length === 0 && <p class="quiet palette-none">{t("palette.none")}</p>}
        </div>
        {found.length > shown.length && (
          <p class="quiet">{t("palette.more", found.length - shown.length)}</p>
        )}
      </div>
    </Dialog>
  );
}
