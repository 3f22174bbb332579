/** The timeline as a component: puts the canvases into the page, and the parts that are elements around them. */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Slice } from "../api/types";
import { register } from "../model/commands";
import { useAtom } from "../base/atom";
import { duration, exact } from "../base/time";
import { laneShift } from "../model/rank_lanes";
import { ranks, selected } from "../model/session";
import { viewport, windowChanged } from "../model/timeline";
import type { Item } from "../model/lanes";
import { touchTree, tree, treeChanged } from "../model/tree";
import { Icon } from "../panels/icons";
import { Menu } from "../panels/dialog";
import { language, t } from "../words";
import { Actions, areRanksWaiting } from "./actions";
import { longTime } from "./axis";
import { timelineCommands } from "./commands";
import { MarkerDialog, OffsetDialog } from "./dialogs";
import { setExporter } from "./export";
import { Gestures } from "./gestures";
import { LabelColumn, number } from "./label_column";
import type { SliceHit } from "./hit";
import { ContextMenu, type MenuOf } from "./menus";
import { Timeline } from "./timeline";
import { loadAll } from "../model/session";
import { fail } from "../model/notices";
import "./timeline.css";

/** So far from the pointer. */
const TIP_PX = 14;
/** The pointer rests for so long on a slice before its exact times are asked for. */
const REST_MS = 40;

interface Shown {
  timeline: Timeline;
  actions: Actions;
}

export function TimelineView() {
  const host = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<Shown | null>(null);
  const [menu, setMenu] = useState<MenuOf | null>(null);
  const [moved, setMoved] = useState<Item | null>(null);
  const [tip, setTip] = useState(0);
  useAtom(language);
  useEffect(() => {
    let made: Shown | null = null;
    const column = {
      menu: (item: Item, x: number, y: number) => setMenu({ kind: "lane", item, x, y }),
      offset: setMoved,
    };
    const timeline = new Timeline({
      labels: () =>
        render(<LabelColumn timeline={timeline} actions={column} />, timeline.labelColumn),
      tip: () => setTip((n) => n + 1),
    });
    const actions = new Actions(timeline);
    made = { timeline, actions };
    new Gestures(timeline, {
      click: (hit) => {
        if (hit === null) {
          selected.set(null);
        } else {
          void timeline.select(hit.rank.key, hit.slice);
        }
      },
      openAt: (hit) => actions.fitTo(timeline.refOf(hit)),
      menu: (hit, x, y, clientX, clientY) => {
        const rank = timeline.hits.rankAt(y)?.rank.key ?? null;
        setMenu(
          hit !== null
            ? { kind: "slice", hit, x: clientX, y: clientY }
            : { kind: "plot", at: viewport.ns(x), rank, x: clientX, y: clientY },
        );
      },
    });
    host.current!.append(timeline.root);
    timeline.resize();
    const unregister = register(timelineCommands(actions));
    const unset = setExporter(timeline);
    setShown(made);
    return () => {
      unregister();
      unset();
      render(null, timeline.labelColumn);
      render(null, timeline.corner);
      timeline.destroy();
      timeline.root.remove();
    };
  }, []);
  useEffect(() => {
    if (shown !== null) {
      const { timeline } = shown;
      timeline.overCanvas.setAttribute("aria-label", t("timeline.plot"));
      timeline.minimapCanvas.title = t("timeline.minimap");
      timeline.axisCanvas.setAttribute("aria-label", t("timeline.axis"));
      timeline.edge.setAttribute("aria-label", t("timeline.edge"));
      render(<Corner actions={shown.actions} />, timeline.corner);
    }
  });
  return (
    <div class="tl-frame" ref={host}>
      {shown !== null && <Nothing />}
      {shown !== null && tip > 0 && <Tip timeline={shown.timeline} />}
      {menu !== null && shown !== null && (
        <ContextMenu
          of={menu}
          actions={shown.actions}
          onClose={() => setMenu(null)}
          onOffset={setMoved}
        />
      )}
      {moved !== null && shown !== null && (
        <OffsetDialog item={moved} actions={shown.actions} onClose={() => setMoved(null)} />
      )}
      <MarkerDialog />
    </div>
  );
}

/** Above the label column: what concerns all lanes. */
function Corner({ actions }: { actions: Actions }) {
  useAtom(treeChanged);
  useAtom(language);
  const all = useAtom(ranks);
  const ready = all.filter((r) => r.state === "ready").length;
  return (
    <>
      <span class="tl-corner-text quiet">
        {ready < all.length ? t("timeline.ranks-read", ready, all.length) : ""}
      </span>
      <span class="tl-corner-tools">
        {areRanksWaiting() && (
          <button
            type="button"
            class="flat tiny"
            title={t("timeline.read-all")}
            aria-label={t("timeline.read-all")}
            onClick={() => void loadAll().catch(fail)}
          >
            <Icon name="play" />
          </button>
        )}
        {all.length > 1 && (
          <Menu label={t("timeline.align")} icon="columns" align="left" class="tiny">
            {(close) =>
              (["clock", "start", "steps"] as const)
                .map((by) => (
                  <button
                    type="button"
                    class="menu-item"
                    onClick={() => {
                      close();
                      void actions.alignAll(by);
                    }}
                  >
                    {t(
                      by === "clock"
                        ? "timeline.align-clock"
                        : by === "start"
                          ? "timeline.align-starts"
                          : "timeline.align-steps",
                    )}
                  </button>
                ))
                .concat([
                  <button
                    type="button"
                    class="menu-item"
                    onClick={() => {
                      close();
                      actions.recoverOffsets();
                    }}
                  >
                    {t("timeline.recover")}
                  </button>,
                ])
            }
          </Menu>
        )}
        <button
          type="button"
          class="flat tiny"
          aria-pressed={tree.isAutoAll}
          title={t("timeline.auto-all")}
          aria-label={t("timeline.auto-all")}
          onClick={() => {
            tree.isAutoAll = !tree.isAutoAll;
            touchTree();
          }}
        >
          <AutoHeight />
        </button>
        <button
          type="button"
          class="flat tiny"
          title={t("timeline.open-all")}
          aria-label={t("timeline.open-all")}
          onClick={() => actions.openAll(null, true)}
        >
          <Icon name="down" />
        </button>
        <button
          type="button"
          class="flat tiny"
          title={t("timeline.close-all")}
          aria-label={t("timeline.close-all")}
          onClick={() => actions.openAll(null, false)}
        >
          <Icon name="right" />
        </button>
      </span>
    </>
  );
}

function AutoHeight() {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d="M3 2.500h10M3 13.500h10M8 5v6M6 6.500L8 4.500l2 2M6 9.500l2 2 2-2"
        fill="none"
        stroke="currentColor"
        stroke-width="1.250"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </svg>
  );
}

/** Until there is something to see. */
function Nothing() {
  const all = useAtom(ranks);
  if (all.some((r) => r.state === "ready")) {
    return null;
  }
  const isReading =
    all.length === 0 || all.some((r) => r.state === "reading" || r.state === "queued");
  return (
    <div class="tl-nothing quiet" role="status">
      {t(isReading ? "timeline.waiting" : "timeline.nothing")}
    </div>
  );
}

/** The slice below the pointer with its times to the nanosecond: tiles have them to a share of a pixel. */
function useExact(hit: SliceHit | null): Slice | null {
  const [known, setKnown] = useState<Slice | null>(null);
  const rank = hit?.rank.key ?? "";
  const slice = hit?.slice ?? -1;
  useEffect(() => {
    if (slice < 0) {
      return undefined;
    }
    const stop = new AbortController();
    const rested = setTimeout(
      () => void get<Slice>("slice", { rank, slice }, stop.signal).then(setKnown, () => undefined),
      REST_MS,
    );
    return () => {
      clearTimeout(rested);
      stop.abort();
    };
  }, [rank, slice]);
  return known !== null && known.rank === rank && known.slice === slice ? known : null;
}

function Tip({ timeline }: { timeline: Timeline }) {
  useAtom(windowChanged);
  const { cursor, hover } = timeline;
  const ref = useRef<HTMLDivElement>(null);
  const full = useExact(hover);
  if (cursor === null || cursor.y < 0) {
    return null;
  }
  const at = timeline.scene.itemAt(cursor.y)?.item;
  let content = null;
  if (hover !== null) {
    const name = timeline.data.names.get(hover.rank.key, hover.name) ?? "\u2026";
    const dur = full?.dur ?? hover.to - hover.from;
    content = (
      <>
        {hover.count > 1 && <div class="quiet">{t("timeline.slices-longest", hover.count)}</div>}
        <div class="mono tl-tip-name">{name}</div>
        <div>
          {duration(dur)} {full !== null && dur >= 1000 && <span class="quiet">{exact(dur)}</span>}
        </div>
        <div class="quiet">
          {full === null
            ? "\u2026"
            : longTime(full.start + laneShift(hover.rank, hover.item.lanes!, hover.item.node))}
        </div>
      </>
    );
  } else if (at?.kind === "counter" && at.rank !== null && at.lanes !== null) {
    const { lanes } = at;
    const value = timeline.painter.counterAt(
      at,
      at.rank,
      laneShift(at.rank, lanes, at.node),
      viewport,
      cursor.x * timeline.scene.scale,
    );
    if (!Number.isNaN(value)) {
      content = (
        <>
          <div>{at.label}</div>
          <div>
            {number(value)} {lanes.nodes[at.node].unit}
          </div>
          <div class="quiet">{longTime(viewport.ns(cursor.x))}</div>
        </>
      );
    }
  }
  if (content === null) {
    const flow = timeline.flowAt(cursor.x, cursor.y);
    if (flow === null) {
      return null;
    }
    content = (
      <>
        <div class="quiet">{flow.kind}</div>
        <div class="mono">
          {flow.from?.name} {"\u2192"} {flow.to?.name}
        </div>
      </>
    );
  }
  const plot = timeline.overCanvas.getBoundingClientRect();
  const x = plot.left + cursor.x;
  const y = plot.top + cursor.y;
  const isRight = x > innerWidth - 320;
  const isLow = y > innerHeight - 120;
  const style = {
    ...(isRight ? { right: `${innerWidth - x + TIP_PX}px` } : { left: `${x + TIP_PX}px` }),
    ...(isLow ? { bottom: `${innerHeight - y + TIP_PX}px` } : { top: `${y + TIP_PX}px` }),
  };
  return (
    <div ref={ref} class="tl-tip" role="tooltip" style={style}>
      {content}
    </div>
  );
}
