/** The timeline as a component: puts the canvases into the page, and the parts that are elements around them. */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { register } from "../model/commands";
import { useAtom } from "../base/atom";
import { outlineOf, outlinesChanged } from "../model/outlines";
import { ranks, selected } from "../model/session";
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
import { takeBlock } from "./pipeline_travel";
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
    clickPipeline: (hit) => void takeBlock(timeline, hit),
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
