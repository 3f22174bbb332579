/** The timeline as a component: puts the canvases into the page, and the parts that are elements around them. */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { register } from "../model/commands";
import { useAtom } from "../base/atom";
import { get } from "../api/client";
import type { Ref } from "../api/types";
import { fail } from "../model/notices";
import { outlineOf, outlinesChanged } from "../model/outlines";
import { box, boxLocked, goto, ranks, selected } from "../model/session";
import { wantLanes } from "../model/tree";
import { deviceLanes } from "./data";
import type { PipelineHit } from "./pipeline_lane";
import { viewport } from "../model/timeline";
import type { Item } from "../model/lanes";
import { language, t } from "../words";
import { Actions } from "./actions";
import { timelineCommands } from "./commands";
import { Corner } from "./corner";
import { MarkerDialog, OffsetDialog } from "./dialogs";
import { setExporter } from "./export";
import { Gestures } from "./gestures";
import { LabelColumn } from "./label_column";
import { ContextMenu, type MenuOf } from "./menus";
import { Timeline } from "./timeline";
import { Tip } from "./tip";
import "./timeline.css";

interface Shown {
  timeline: Timeline;
  actions: Actions;
  close: () => void;
}

export function TimelineView() {
  const host = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<Shown | null>(null);
  const [menu, setMenu] = useState<MenuOf | null>(null);
  const [moved, setMoved] = useState<Item | null>(null);
  const [tip, setTip] = useState(0);
  useAtom(language);
  useEffect(() => {
    const made = open(host.current!, {
      menu: setMenu,
      offset: setMoved,
      tip: () => setTip((n) => n + 1),
    });
    setShown(made);
    return made.close;
  }, []);
  useEffect(() => {
    if (shown !== null) {
      name(shown.timeline.parts);
      render(<Corner actions={shown.actions} />, shown.timeline.parts.corner);
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

/** What the timeline asks of the component around it. */
interface Around {
  menu: (of: MenuOf) => void;
  offset: (item: Item) => void;
  tip: () => void;
}

/** Puts a timeline into the page. */
function open(host: HTMLElement, around: Around): Shown {
  const column = {
    menu: (item: Item, x: number, y: number) => around.menu({ kind: "lane", item, x, y }),
    offset: around.offset,
  };
  const timeline: Timeline = new Timeline({
    labels: () =>
      render(<LabelColumn timeline={timeline} actions={column} />, timeline.parts.labelColumn),
    tip: around.tip,
  });
  const actions = new Actions(timeline);
  new Gestures(timeline, {
    click: (hit) => {
      if (hit === null) {
        selected.set(null);
      } else {
        void timeline.select(hit.rank.key, hit.slice);
      }
    },
    clickPipeline: (hit) => void clickPipeline(timeline, hit),
    openAt: (hit) => actions.fitTo(timeline.pointer.refOf(hit)),
    menu: (hit, x, y, clientX, clientY) => {
      const rank = timeline.hits.rankAt(y)?.rank.key ?? null;
      around.menu(
        hit !== null
          ? { kind: "slice", hit, x: clientX, y: clientY }
          : { kind: "plot", at: viewport.ns(x), rank, x: clientX, y: clientY },
      );
    },
  });
  host.append(timeline.parts.root);
  timeline.resize();
  const unregister = register(timelineCommands(actions));
  const unset = setExporter(timeline);
  const close = (): void => {
    unregister();
    unset();
    render(null, timeline.parts.labelColumn);
    render(null, timeline.parts.corner);
    timeline.destroy();
    timeline.parts.root.remove();
  };
  return { timeline, actions, close };
}

/** The slice that an op is made of; of a gap, of other work, and where no slice is exactly that, what the device did there. */
async function clickPipeline(timeline: Timeline, hit: PipelineHit): Promise<void> {
  const { rank, kind, from, to, start, end } = hit;
  try {
    const found =
      kind === "ops"
        ? await get<{ ref: Ref | null }>("slice_at", { rank: rank.key, start, end })
        : null;
    if (found?.ref != null) {
      await timeline.select(found.ref.rank, found.ref.slice);
      const isSeen = timeline.scene
        .itemsOnScreen()
        .some((item) => item.kind === "pipeline" && item.rank?.key === rank.key);
      if (hit.after !== undefined && !isSeen) {
        goto.set({ ref: found.ref }); // the line leads from here to a rank out of sight
      }
      return;
    }
  } catch (error) {
    fail(error);
    return;
  }
  await wantLanes(rank.key);
  const lanes = deviceLanes(rank.key).map((lane) => ({ rank: rank.key, lane, rows: null }));
  if (!boxLocked.get()) {
    box.set({ from, to, lanes: lanes.length > 0 ? lanes : null });
  }
}

/** For those who cannot see it. */
function name(parts: Timeline["parts"]): void {
  parts.over.setAttribute("aria-label", t("timeline.plot"));
  parts.minimap.title = t("timeline.minimap");
  parts.axis.setAttribute("aria-label", t("timeline.axis"));
  parts.edge.setAttribute("aria-label", t("timeline.edge"));
}

/** Until there is something to see. */
function Nothing() {
  const all = useAtom(ranks);
  useAtom(outlinesChanged);
  if (all.some((r) => r.state === "ready" || outlineOf(r.key) !== undefined)) {
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
