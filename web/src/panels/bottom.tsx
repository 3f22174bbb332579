/** The panel below the timeline: one tab for each way to look at what is selected. Q closes it, its upper edge resizes it. */
import type { ComponentChild } from "preact";
import { useEffect } from "preact/hooks";
import { register } from "../model/commands";
import { useAtom } from "../base/atom";
import { followDrag } from "../base/pointer";
import { duration } from "../base/time";
import { counts, findOpen } from "../model/search";
import { analysisSpan, box, selected, wasLedTo } from "../model/session";
import {
  analyse,
  BOTTOM_TABS,
  bottomHeight,
  bottomOpen,
  bottomTab,
  eventsOf,
  openPanel,
  shownEvents,
  type BottomTab,
} from "../model/timeline";
import { language, t, type Word } from "../words";
import { Detail } from "./detail";
import { Events } from "./events";
import { Find } from "./find";
import { Icon } from "./icons";
import { Markers } from "./markers";
import { SliceList } from "./slice_list";
import { SystemView } from "./system";
import "./panels.css";

/** Their tables keep to the analysed span. */
const OF_SPAN: readonly BottomTab[] = ["system", "events"];

const TABS = {
  detail: { word: "bottom.detail", show: () => <Detail /> },
  list: { word: "bottom.list", show: () => <SliceList /> },
  system: { word: "bottom.system", show: () => <SystemView /> },
  find: { word: "bottom.find", show: () => <Find /> },
  events: { word: "bottom.events", show: () => <Events /> },
  markers: { word: "bottom.markers", show: () => <Markers /> },
} satisfies Record<BottomTab, { word: Word; show: () => ComponentChild }>;

/** What the user does elsewhere brings the tab that shows it to the front; a closed panel stays closed but for what was asked for
 * by name. */
function follow(): () => void {
  const stops = [
    // A row of a table that leads to a slice leaves the table where it is.
    selected.listen(() => selected.get() !== null && !wasLedTo() && bottomTab.set("detail")),
    box.listen(() => box.get() !== null && !wasLedTo() && bottomTab.set("list")),
    findOpen.listen(() => {
      if (findOpen.get()) {
        findOpen.set(false);
        openPanel("find");
      }
    }),
    eventsOf.listen(() => {
      const of = eventsOf.get();
      if (of !== null) {
        eventsOf.set(null);
        shownEvents.set(of);
        openPanel("events");
      }
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

/** That the tables below keep to a span, and the way back to all. */
function SpanNote() {
  const span = useAtom(analysisSpan);
  return span === null ? null : (
    <span class="bottom-span">
      {t("system.span", duration(span.to - span.from))}
      <button
        type="button"
        class="flat tiny"
        aria-label={t("system.remove-span")}
        title={t("system.remove-span")}
        onClick={() => analyse(null)}
      >
        <Icon name="close" />
      </button>
    </span>
  );
}

const LEAST = 96;

function resize(e: PointerEvent): void {
  const from = e.clientY;
  const height = bottomHeight.get();
  const move = (now: PointerEvent): void => {
    bottomHeight.set(
      Math.max(LEAST, Math.min(window.innerHeight - 200, height + from - now.clientY)),
    );
  };
  followDrag(e.currentTarget as HTMLElement, e, { move }, 0);
}

export function BottomPanel() {
  const name = useAtom(bottomTab);
  const isOpen = useAtom(bottomOpen);
  const height = useAtom(bottomHeight);
  const found = useAtom(counts);
  useAtom(language);
  useEffect(follow, []);
  useEffect(
    () =>
      register([
        {
          id: "timeline.bottom",
          word: "bottom.toggle",
          keys: ["q"],
          run: () => bottomOpen.update((now) => !now),
        },
      ]),
    [],
  );
  return (
    <section
      class="bottom"
      aria-label={t("bottom.label")}
      style={isOpen ? { height: `${height}px` } : undefined}
    >
      {isOpen && (
        <div
          class="bottom-edge"
          role="separator"
          aria-orientation="horizontal"
          aria-label={t("bottom.resize")}
          tabIndex={0}
          aria-valuenow={height}
          onPointerDown={resize}
          onKeyDown={(e) => {
            if (e.key === "ArrowUp" || e.key === "ArrowDown") {
              e.preventDefault();
              e.stopPropagation();
              bottomHeight.set(Math.max(LEAST, height + (e.key === "ArrowUp" ? 20 : -20)));
            }
          }}
        />
      )}
      <div class="bottom-tabs" role="tablist">
        {BOTTOM_TABS.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            aria-selected={tab === name}
            onClick={() => openPanel(tab)}
          >
            {t(TABS[tab].word)}
            {tab === "find" && found !== null ? ` (${found.total})` : ""}
          </button>
        ))}
        <span class="spring" />
        {OF_SPAN.includes(name) && <SpanNote />}
        <button
          type="button"
          class="flat"
          aria-expanded={isOpen}
          aria-label={t("bottom.toggle")}
          title={`${t("bottom.toggle")} (Q)`}
          onClick={() => bottomOpen.set(!isOpen)}
        >
          <Icon name={isOpen ? "down" : "up"} />
        </button>
      </div>
      {isOpen && (
        <div class="bottom-body" role="tabpanel">
          {TABS[name].show()}
        </div>
      )}
    </section>
  );
}
