/** Menus of the right mouse button: of a slice (T-25) and of a row of the label column. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Link, Slice } from "../api/types";
import { get } from "../api/client";
import { duration } from "../base/time";
import type { Item } from "../model/lanes";
import { analysisSpan, box, boxLocked, loadAll, selected, show, tab } from "../model/session";
import {
  addMarker,
  baseSlice,
  eventsOf,
  findInCommunication,
  moveWindow,
  resetWindow,
  rowsMode,
  showInstants,
  undoZoom,
  zoomHistory,
} from "../model/timeline";
import { tree } from "../model/tree";
import { fail } from "../model/notices";
import { t } from "../words";
import { areRanksWaiting, spanOf, type Actions } from "./actions";
import type { SliceHit } from "./hit";
import { refocus } from "./label_keys";
import { saveTrace } from "./save_trace";

export type MenuOf =
  | { kind: "slice"; hit: SliceHit; x: number; y: number }
  | { kind: "plot"; at: number; rank: string | null; x: number; y: number }
  | { kind: "lane"; item: Item; x: number; y: number };

interface Entry {
  text: string;
  keys?: string;
  run: () => void;
  isOff?: boolean;
  isChecked?: boolean;
}
type Line = Entry | "line" | { head: string };

function common(actions: Actions): Line[] {
  const b = box.get();
  const span = b ?? actions.selectedSpan();
  return [
    {
      text: t("timeline.zoom-box"),
      keys: "Shift+Z",
      run: () => actions.zoomToBox(),
      isOff: span === null,
    },
    {
      text: `${t("timeline.undo")} (${zoomHistory.n})`,
      keys: "Backspace",
      run: undoZoom,
      isOff: zoomHistory.n === 0,
    },
    { text: t("timeline.reset"), keys: "Ctrl+0", run: resetWindow },
    "line",
    {
      text: t("timeline.analyse"),
      keys: "Shift+T",
      run: () => actions.analyse(span),
      isOff: span === null,
    },
    {
      text: t("timeline.analyse-zoom"),
      isOff: span === null,
      run: () => {
        actions.analyse(span);
        moveWindow((view) => view.show(span!.from, span!.to));
      },
    },
    {
      text: t("timeline.analyse-remove"),
      run: () => actions.analyse(null),
      isOff: analysisSpan.get() === null,
    },
    { text: t("timeline.save-trace"), run: () => void saveTrace() },
    {
      text: t(boxLocked.get() ? "timeline.unlock" : "timeline.lock"),
      keys: "Shift+L",
      run: () => boxLocked.update((now) => !now),
      isOff: b === null,
    },
    {
      text: t("timeline.rows-mode"),
      keys: "Shift+R",
      run: () => rowsMode.update((now) => !now),
      isChecked: rowsMode.get(),
    },
  ];
}

function sliceLines(actions: Actions, hit: SliceHit, full: Slice | null): Line[] {
  const base = baseSlice.get();
  const ref = full ?? actions.timeline.pointer.refOf(hit);
  const isComm =
    hit.item.lanes?.nodes[hit.item.node].kind === "comm" || full?.communication === true;
  return [
    { head: `${ref.name !== "" ? ref.name : t("timeline.slice")} \u00b7 ${duration(ref.dur)}` },
    { text: t("timeline.fit-slice"), keys: "F", run: () => actions.fitTo(ref) },
    {
      text: t("timeline.slice-box"),
      keys: "M",
      run: () => {
        selected.set(ref);
        actions.toggleSliceBox();
      },
    },
    ...common(actions),
    { text: t("timeline.analyse-slice"), run: () => actions.analyse(spanOf(ref)) },
    "line",
    { text: t("timeline.events"), run: () => eventsOf.set({ rank: ref.rank, lanes: [ref.lane] }) },
    {
      text: t("timeline.to-pipeline"),
      run: () => void actions.sliceToPipeline(ref),
    },
    "line",
    { text: t("timeline.base"), run: () => actions.setBase(ref) },
    {
      text: t("timeline.align-start"),
      keys: "L",
      run: () => {
        selected.set(ref);
        actions.align(false);
      },
      isOff: base === null,
    },
    {
      text: t("timeline.align-end"),
      keys: "R",
      run: () => {
        selected.set(ref);
        actions.align(true);
      },
      isOff: base === null,
    },
    { text: t("timeline.base-clear"), run: () => baseSlice.set(null), isOff: base === null },
    "line",
    // Last, since what is known of the slice only later would move the lines below under the pointer.
    ...(isComm
      ? [
          {
            text: t("timeline.find-comm"),
            run: () => {
              findInCommunication.set(ref);
              tab.set("communication");
            },
          },
        ]
      : []),
    ...linkLines(full),
  ];
}

const MOST_LINKS = 12;

function linkLines(full: Slice | null): Line[] {
  if (full === null || full.links.length === 0) {
    return [{ text: t("timeline.no-links"), run: () => undefined, isOff: true }];
  }
  const line = (link: Link): Entry => ({
    text: t(
      link.direction === "to" ? "timeline.link-to" : "timeline.link-from",
      link.ref.name,
      link.kind,
    ),
    run: () => show(link.ref),
  });
  const shown = full.links.slice(0, MOST_LINKS).map(line);
  return full.links.length > MOST_LINKS
    ? [
        ...shown,
        {
          text: t("timeline.more-links", full.links.length - MOST_LINKS),
          run: () => undefined,
          isOff: true,
        },
      ]
    : shown;
}

function plotLines(actions: Actions, at: number, rank: string | null): Line[] {
  return [
    ...common(actions),
    "line",
    { text: t("timeline.marker-here"), keys: "K", run: () => void addMarker(Math.round(at), null) },
    {
      text: t("timeline.clear-box"),
      keys: "Esc",
      run: () => box.set(null),
      isOff: box.get() === null,
    },
    {
      text: t("timeline.base-clear"),
      run: () => baseSlice.set(null),
      isOff: baseSlice.get() === null,
    },
    {
      text: t("timeline.to-pipeline"),
      isOff: rank === null,
      run: () => {
        const of = actions.timeline.ranksOnScreen().find((r) => r.key === rank);
        if (of !== undefined) {
          actions.spanToPipeline(of, { from: at, to: at });
        }
      },
    },
  ];
}

function laneLines(actions: Actions, item: Item, onOffset: (item: Item) => void): Line[] {
  const ids = actions.rowsFor(item);
  const many = ids.length > 1;
  const isLane = item.kind === "lane" || item.kind === "counter";
  const merge = actions.mergeable(item);
  const hasPython = item.lanes?.nodes.some((n) => n.kind === "python") ?? false;
  const isPythonHidden =
    item.lanes?.nodes.some(
      (n) => n.kind === "python" && tree.hidden.has(`${item.rank!.key}|${n.id}`),
    ) ?? false;
  const isMerged = item.lanes !== null && item.node >= 0 && item.lanes.isMerged(item.node);
  return [
    { head: many ? t("timeline.marked", ids.length) : item.label },
    {
      text: t("timeline.open-below"),
      run: () => actions.openAll(item, true),
      isOff: item.kind === "unread",
    },
    {
      text: t("timeline.close-below"),
      run: () => actions.openAll(item, false),
      isOff: item.kind === "unread",
    },
    ...(item.kind === "lane"
      ? [
          {
            text: t("timeline.auto-height"),
            isChecked: tree.isAuto(item.id),
            run: () =>
              actions.change(() => {
                if (!tree.autoHeight.delete(item.id)) {
                  tree.autoHeight.add(item.id);
                }
              }),
          },
        ]
      : []),
    "line",
    {
      text: t("timeline.pin"),
      run: () => actions.change(() => tree.pin(ids)),
      isOff: item.kind === "host" || item.kind === "unread",
    },
    {
      text: t("timeline.pin-same"),
      run: () => void actions.pinSame(item, true),
      isOff: item.node < 0,
    },
    {
      text: t("timeline.unpin"),
      run: () => actions.change(() => tree.unpin(ids)),
      isOff: !ids.some((id) => tree.isPinned(id)),
    },
    {
      text: t("timeline.unpin-same"),
      run: () => void actions.pinSame(item, false),
      isOff: item.node < 0 || tree.pinned.length === 0,
    },
    {
      text: t("timeline.unpin-all"),
      run: () => actions.change(() => tree.unpin(null)),
      isOff: tree.pinned.length === 0,
    },
    "line",
    { text: t("timeline.hide"), run: () => actions.hide(ids), isOff: item.kind === "host" },
    {
      text: t("timeline.hide-siblings"),
      run: () => actions.hideSiblings(item),
      isOff: item.kind === "host",
    },
    {
      text: t("timeline.show-hidden"),
      run: () => actions.change(() => tree.show(null)),
      isOff: tree.hidden.size === 0,
    },
    ...(hasPython
      ? [
          {
            text: t(isPythonHidden ? "timeline.python-show" : "timeline.python-hide"),
            run: () => actions.togglePython(item),
          },
        ]
      : []),
    {
      text: t("timeline.instants"),
      isChecked: showInstants.get(),
      run: () => showInstants.update((now) => !now),
    },
    "line",
    ...(merge !== null
      ? [{ text: t("timeline.merge", merge.ids.length), run: () => void actions.merge(merge) }]
      : []),
    ...(isMerged ? [{ text: t("timeline.unmerge"), run: () => actions.unmerge(item) }] : []),
    {
      text: t("timeline.offset"),
      run: () => onOffset(item),
      isOff: item.rank === null || item.kind === "unread",
    },
    { text: t("timeline.recover"), run: () => actions.recoverOffsets() },
    {
      text: t("timeline.events"),
      run: () => actions.events(item),
      isOff: !isLane && item.kind !== "group",
    },
    ...(areRanksWaiting()
      ? [{ text: t("timeline.read-all"), run: () => void loadAll().catch(fail) }]
      : []),
  ];
}

export function ContextMenu({
  of,
  actions,
  onClose,
  onOffset,
}: {
  of: MenuOf;
  actions: Actions;
  onClose: () => void;
  onOffset: (item: Item) => void;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const [full, setFull] = useState<Slice | null>(null);
  const [place, setPlace] = useState({ left: of.x, top: of.y });
  useEffect(() => {
    setFull(null);
    if (of.kind === "slice") {
      const gone = new AbortController();
      get<Slice>("slice", { rank: of.hit.rank.key, slice: of.hit.slice }, gone.signal).then(
        setFull,
        () => undefined,
      );
      return () => gone.abort();
    }
    return undefined;
  }, [of]);
  useLayoutEffect(() => {
    const at = ref.current!.getBoundingClientRect();
    setPlace({
      left: Math.max(4, Math.min(of.x, innerWidth - at.width - 4)),
      top: Math.max(4, Math.min(of.y, innerHeight - at.height - 4)),
    });
  }, [of, full]);
  useEffect(() => {
    ref.current?.querySelector<HTMLElement>("button:not([disabled])")?.focus();
    const away = (e: Event): void => {
      if (!ref.current?.contains(e.target as Node)) {
        onClose();
      }
    };
    addEventListener("pointerdown", away, true);
    return () => removeEventListener("pointerdown", away, true);
  }, [of]);
  // A menu of a lane that keys opened gives the focus back to it.
  const focusAfter = (): void => {
    actions.timeline.parts.scroller.focus({ preventScroll: true });
    if (of.kind === "lane") {
      refocus(of.item);
    }
  };
  const lines =
    of.kind === "slice"
      ? sliceLines(actions, of.hit, full)
      : of.kind === "plot"
        ? plotLines(actions, of.at, of.rank)
        : laneLines(actions, of.item, onOffset);
  return (
    <div
      ref={ref}
      class="menu-box tl-menu"
      role="menu"
      style={{ left: `${place.left}px`, top: `${place.top}px` }}
      onContextMenu={(e) => e.preventDefault()}
      onKeyDown={(e) => {
        e.stopPropagation();
        if (e.key === "Escape" || e.key === "Tab") {
          onClose();
          focusAfter();
        } else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
          e.preventDefault();
          const all = [...ref.current!.querySelectorAll<HTMLElement>("button:not([disabled])")];
          const at = all.indexOf(document.activeElement as HTMLElement);
          all[(at + (e.key === "ArrowDown" ? 1 : all.length - 1)) % all.length]?.focus();
        }
      }}
    >
      {lines.map((line, i) =>
        line === "line" ? (
          <hr key={i} />
        ) : "head" in line ? (
          <div key={i} class="menu-head tl-menu-head">
            {line.head}
          </div>
        ) : (
          <button
            key={i}
            type="button"
            role={line.isChecked === undefined ? "menuitem" : "menuitemcheckbox"}
            aria-checked={line.isChecked}
            class="menu-item tl-menu-item"
            disabled={line.isOff === true}
            onClick={() => {
              onClose();
              line.run();
              focusAfter();
            }}
          >
            <span class="tl-check">{line.isChecked === true ? "\u2713" : ""}</span>
            <span class="tl-menu-text">{line.text}</span>
            {line.keys !== undefined && <kbd>{line.keys}</kbd>}
          </button>
        ),
      )}
    </div>
  );
}
