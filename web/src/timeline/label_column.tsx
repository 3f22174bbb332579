/** The column of lane names: only what is on screen is there, however many lanes there are. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Rank } from "../api/types";
import { HEADER_PX, headId, nodeOfId, type Item } from "../model/lanes";
import { list } from "../api/client";
import { pipelineOf } from "../model/pipeline_rows";
import { autoOffset, load, offsets } from "../model/session";
import { layoutInput, marked, touchTree, tree } from "../model/tree";
import { Icon } from "../panels/icons";
import { t } from "../words";
import { fail } from "../model/notices";
import { labelWidth } from "../model/timeline";
import {
  clickedBeside,
  followFocus,
  gotFocus,
  isFocused,
  isStop,
  lostFocus,
  rowOfKeys,
  togglePin,
  treeKey,
} from "./label_keys";
import { cutMiddle, nameOf, withoutParent } from "./labels";
import type { Timeline } from "./timeline";
import type { Region } from "./scene";
import { grouped } from "../base/format";
import { significant, withMinus } from "../base/time";

export interface ColumnActions {
  menu: (item: Item, x: number, y: number) => void;
  offset: (item: Item) => void;
}

/** What is being dragged to another place. */
interface Dragged {
  id: string;
  head: string;
  isPins: boolean;
}
let dragged: Dragged | null = null;

function toggle(item: Item): void {
  tree.setOpen(item, !item.isOpen);
  touchTree();
}

/** Plain: marks one; Ctrl: adds one; Shift: all from the last one. */
function mark(
  item: Item,
  e: { ctrlKey: boolean; metaKey: boolean; shiftKey: boolean },
  items: readonly Item[],
): void {
  const now = marked.get();
  if (e.shiftKey && now.size > 0) {
    const last = [...now][now.size - 1];
    const a = items.findIndex((i) => i.id === last);
    const b = items.indexOf(item);
    if (a >= 0) {
      const [from, to] = a < b ? [a, b] : [b, a];
      marked.set(
        new Set([
          ...now,
          ...items
            .slice(from, to + 1)
            .filter((i) => i.kind !== "hidden")
            .map((i) => i.id),
        ]),
      );
      return;
    }
  }
  if (e.ctrlKey || e.metaKey) {
    const next = new Set(now);
    if (!next.delete(item.id)) {
      next.add(item.id);
    }
    marked.set(next);
  } else {
    marked.set(now.size === 1 && now.has(item.id) ? new Set() : new Set([item.id]));
  }
}

/** Of the row, or of all that are marked where it is one of them. */
function openMenu(e: MouseEvent, item: Item, actions: ColumnActions): void {
  e.preventDefault();
  if (!marked.get().has(item.id)) {
    marked.set(new Set([item.id]));
  }
  actions.menu(item, e.clientX, e.clientY);
}

function drop(target: Item, isPins: boolean): void {
  const from = dragged;
  dragged = null;
  if (from === null || from.id === target.id || from.isPins !== isPins) {
    return;
  }
  if (isPins) {
    tree.move("^", tree.pinned, from.id, target.id);
  } else {
    const { parent, ids } = tree.siblings(layoutInput(), target);
    if (!ids.includes(from.head)) {
      return;
    }
    tree.move(parent, ids, from.head, headId(target));
  }
  touchTree();
}

/** Of a mouse; a menu that keys ask for has another one. */
const RIGHT_BUTTON = 2;

/** Its buttons are no stops of Tab: keys of the row and its menu do the same (label_keys.ts). */
function Row({
  item,
  region,
  timeline,
  actions,
  isTabStop,
}: {
  item: Item;
  region: Region;
  timeline: Timeline;
  actions: ColumnActions;
  isTabStop: boolean;
}) {
  const top = item.y - region.scroll;
  const isPinned = tree.isPinned(item.id);
  const style = {
    top: `${top}px`,
    height: `${item.height}px`,
    paddingLeft: `${4 + item.depth * 12}px`,
  };
  if (item.kind === "hidden") {
    return (
      <div class="tl-row tl-hidden" style={style} role="treeitem" aria-level={item.depth + 1}>
        <span class="quiet">{t("timeline.hidden", item.hidden.length)}</span>
        <button
          type="button"
          class="flat tiny tl-shown"
          onClick={() => {
            tree.show(item.hidden);
            touchTree();
          }}
        >
          {t("timeline.show-all")}
        </button>
      </div>
    );
  }
  const focus = {
    "data-id": item.id,
    tabIndex: isTabStop ? 0 : -1,
    onFocus: () => gotFocus(item, region),
    onBlur: (e: FocusEvent) => lostFocus(e.relatedTarget),
    onKeyDown: (e: KeyboardEvent) => {
      if (e.target === e.currentTarget && treeKey(e, item, region, timeline)) {
        e.preventDefault();
        e.stopPropagation();
      }
    },
  };
  if (item.kind === "pipeline" || item.kind === "outline") {
    return (
      <div
        class={`tl-row tl-lane tl-of-${item.kind}`}
        style={style}
        role="treeitem"
        aria-level={item.depth + 1}
        title={item.kind === "outline" ? t("timeline.so-far") : pipelineTitle(item)}
        {...(item.kind === "pipeline" ? focus : {})}
      >
        <span class="tl-twist" />
        <span class="tl-name">{item.label}</span>
      </div>
    );
  }
  if (item.kind === "idle") {
    return (
      <div
        class="tl-row tl-group"
        style={style}
        role="treeitem"
        aria-level={item.depth + 1}
        aria-expanded={item.isOpen}
        title={namesOf(item)}
        {...focus}
        onDblClick={() => toggle(item)}
      >
        <Twist item={item} />
        <span class="tl-name quiet">{nameOf(item)}</span>
      </div>
    );
  }
  const isMovable = item.kind !== "host";
  return (
    <div
      class={`tl-row tl-${item.kind}${marked.get().has(item.id) ? " marked" : ""}`}
      style={style}
      role="treeitem"
      aria-level={item.depth + 1}
      aria-expanded={item.canOpen ? item.isOpen : undefined}
      aria-selected={marked.get().has(item.id)}
      title={titleOf(item)}
      {...focus}
      draggable={isMovable}
      onDragStart={(e) => {
        dragged = { id: item.id, head: headId(item), isPins: region.isPins };
        e.dataTransfer?.setData("text/plain", item.label);
      }}
      onDragOver={(e) => dragged !== null && e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault();
        drop(item, region.isPins);
      }}
      onClick={(e) => mark(item, e, region.items)}
      onDblClick={() => item.canOpen && toggle(item)}
      onContextMenu={(e) =>
        openMenu(e, e.button === RIGHT_BUTTON ? item : rowOfKeys(item, region), actions)
      }
    >
      {item.canOpen ? <Twist item={item} /> : <span class="tl-twist" />}
      {item.owner !== "" && <span class="tl-owner quiet">{item.owner}</span>}
      <span class="tl-name">{item.node < 0 ? nameOf(item) : shortened(item, timeline)}</span>
      {item.rank !== null && item.node < 0 && <RankNote rank={item.rank} />}
      {item.kind === "counter" && <Scale item={item} timeline={timeline} />}
      <span class="tl-tools">
        {item.kind === "rank" && (
          <button
            type="button"
            class="flat tiny"
            tabIndex={-1}
            title={t("timeline.offset")}
            aria-label={t("timeline.offset")}
            onClick={(e) => {
              e.stopPropagation();
              actions.offset(item);
            }}
          >
            <Icon name="settings" />
          </button>
        )}
        {item.kind !== "host" && item.kind !== "unread" && (
          <button
            type="button"
            class="flat tiny"
            tabIndex={-1}
            aria-pressed={isPinned}
            title={t(isPinned ? "timeline.unpin" : "timeline.pin")}
            aria-label={t(isPinned ? "timeline.unpin" : "timeline.pin")}
            onClick={(e) => {
              e.stopPropagation();
              togglePin(item);
            }}
          >
            <Pin />
          </button>
        )}
      </span>
    </div>
  );
}

function Twist({ item }: { item: Item }) {
  return (
    <button
      type="button"
      class="flat tiny tl-twist"
      tabIndex={-1}
      aria-label={t(item.isOpen ? "timeline.close" : "timeline.open")}
      onClick={(e) => {
        e.stopPropagation();
        toggle(item);
      }}
    >
      <Icon name={item.isOpen ? "down" : "right"} />
    </button>
  );
}

/** Said on hover: which counters do not change. */
const MOST_NAMES = 30;
function namesOf(item: Item): string {
  const { lanes, hidden } = item;
  const names = hidden
    .slice(0, MOST_NAMES)
    .map((id) => lanes!.nodes[lanes!.find(nodeOfId(id))].name);
  return [
    t("timeline.idle-what"),
    ...names,
    ...(hidden.length > MOST_NAMES ? ["\u2026"] : []),
  ].join("\n");
}

/** Names differ at their ends; of several that share a row the last says most. Widths are those of texts of 11 pixels. */
export function shortened(item: Item, timeline: Timeline): string {
  const { widths } = timeline;
  const beside = [item.owner, item.kind === "counter" ? scaleOf(item, timeline)[0] : ""]
    .filter((text) => text !== "")
    .reduce((sum, text) => sum + widths.of(text) + 8, 0);
  const room = ((labelWidth.get() - item.depth * 12 - 36) * 11) / 12 - beside;
  const at = item.label.lastIndexOf(" \u203a ");
  if (at < 0) {
    const fits = widths.of(item.label) <= room;
    return fits ? item.label : cutMiddle(tellingOf(item), room, widths);
  }
  const tail = item.label.slice(at);
  const rest = room - widths.of(tail);
  return widths.of(item.label) <= room
    ? item.label
    : rest >= 36
      ? cutMiddle(item.label.slice(0, at), rest, widths) + tail
      : cutMiddle(item.label.slice(at + 3), room, widths);
}

/** Counters of one family begin alike, as the row above them says; those that are pinned stand without it. */
function tellingOf(item: Item): string {
  const nodes = item.lanes!.nodes;
  const { kind, parent } = nodes[item.node];
  return kind === "counter" && parent >= 0 && item.owner === ""
    ? withoutParent(item.label, nodes[parent].name)
    : item.label;
}

function Pin() {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d="M6 2.500h4l-.500 4.500 2 2v1.500h-7V9l2-2zM8 10.500v3.500"
        fill="none"
        stroke="currentColor"
        stroke-width="1.25"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </svg>
  );
}

/** Of a rank that is not read: a button that reads it, how far that is, or why it failed. Of one that is: what moved it. */
function RankNote({ rank }: { rank: Rank }) {
  switch (rank.state) {
    case "ready": {
      const own = offsets.get().get(rank.key);
      const auto = autoOffset(rank);
      return own !== undefined || auto !== 0 ? (
        <span class="tl-note quiet" title={auto !== 0 ? t("timeline.aligned-hint") : undefined}>
          {t(own !== undefined ? "timeline.moved" : "timeline.aligned")}
        </span>
      ) : null;
    }
    case "closed":
      return null;
    case "waiting":
    case "failed":
      return (
        <>
          {rank.state === "failed" && (
            <span class="tl-note tl-bad" title={rank.error}>
              {t("timeline.failed")}
            </span>
          )}
          <button
            type="button"
            class="flat tiny tl-play"
            tabIndex={-1}
            title={t("timeline.read")}
            aria-label={t("timeline.read")}
            onClick={(e) => {
              e.stopPropagation();
              load([rank.key]).catch(fail);
            }}
          >
            <Icon name={rank.state === "failed" ? "reset" : "play"} />
          </button>
        </>
      );
    case "queued":
      return <span class="tl-note quiet">{t("timeline.queued")}</span>;
    case "reading":
      return (
        <progress
          class="tl-progress"
          value={rank.progress}
          max={1}
          aria-label={t("timeline.reading")}
        />
      );
  }
}

/** What the largest and the smallest value in sight are, "": there are none. */
function scaleOf(item: Item, timeline: Timeline): [most: string, least: string] {
  const [least, most] = timeline.painter.counterScale.get(item.id) ?? [0, 0];
  const { unit } = item.lanes!.nodes[item.node];
  return most === 0 && least === 0
    ? ["", ""]
    : [`${number(most)} ${unit}`, least < 0 && item.isOpen ? number(least) : ""];
}

function Scale({ item, timeline }: { item: Item; timeline: Timeline }) {
  const [most, least] = scaleOf(item, timeline);
  return most === "" ? null : (
    <span class={least !== "" ? "tl-note quiet tl-scale tl-both" : "tl-note quiet tl-scale"}>
      {most}
      {least !== "" && (
        <>
          <br />
          {least}
        </>
      )}
    </span>
  );
}

export function number(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-2)) {
    return withMinus(value.toExponential(2));
  }
  return size >= 1e4
    ? withMinus(grouped(String(Math.round(value))))
    : Number.isInteger(value)
      ? withMinus(String(value))
      : significant(value);
}

function titleOf(item: Item): string {
  if (item.rank !== null && item.node < 0) {
    return [
      item.label,
      item.rank.host,
      item.rank.file,
      item.rank.state === "failed" ? item.rank.error : "",
    ]
      .filter((s) => s !== "")
      .join("\n");
  }
  const node = item.lanes?.nodes[item.node];
  const name = item.owner === "" ? item.label : `${item.owner} \u203a ${item.label}`;
  return node === undefined || node.lane < 0
    ? name
    : `${name}\n${t("timeline.slices", node.slices)}${node.derived === true ? `\n${t("timeline.derived")}` : ""}`;
}

/** The pipeline by its name, and whose it is. */
function pipelineTitle(item: Item): string {
  const found = item.rank === null ? null : pipelineOf(item.rank);
  if (found === null) {
    return "";
  }
  const of = found.rows.chart.ranks.filter((r) => r.pipeline === found.row.pipeline);
  return [
    item.label,
    t("timeline.pipeline-of", found.row.pipeline, list(of.map((r) => r.rank))),
  ].join("\n");
}

/** A browser scrolls names alone when one that is cut by the edge gets the focus: the lanes go with them. */
function followScroll(names: HTMLElement, region: Region, timeline: Timeline): void {
  const by = names.scrollTop;
  names.scrollLeft = 0;
  if (by !== 0) {
    names.scrollTop = 0;
    timeline.scrolling.by(region, by);
  }
}

/** The header that stays is the one in place: its name, what moved it, its menu. */
function Stuck({
  region,
  timeline,
  actions,
}: {
  region: Region;
  timeline: Timeline;
  actions: ColumnActions;
}) {
  const stuck = timeline.scene.stuck(region);
  return stuck === null ? null : (
    <div
      class="tl-row tl-rank tl-stuck"
      style={{
        top: `${stuck.top}px`,
        height: `${HEADER_PX}px`,
        paddingLeft: `${4 + stuck.item.depth * 12}px`,
      }}
      title={titleOf(stuck.item)}
      aria-hidden="true"
      onClick={() => timeline.scrolling.by(region, stuck.item.y - region.scroll)}
      onContextMenu={(e) => openMenu(e, stuck.item, actions)}
    >
      <span class="tl-twist" />
      <span class="tl-name">{stuck.item.label}</span>
      {stuck.item.rank !== null && <RankNote rank={stuck.item.rank} />}
    </div>
  );
}

export function LabelColumn({ timeline, actions }: { timeline: Timeline; actions: ColumnActions }) {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    followFocus(root.current!);
  });
  useEffect(() => clickedBeside(root.current!), []);
  return (
    <div
      class="tl-tree"
      ref={root}
      role="tree"
      aria-label={t("timeline.lanes")}
      aria-multiselectable="true"
    >
      {timeline.scene.regions.map((region) => {
        const end = region.scroll + region.bottom - region.top;
        const rows: Item[] = [];
        if (region.bottom <= region.top) {
          return null;
        }
        for (
          let i = timeline.scene.firstItem(region);
          i < region.items.length && region.items[i].y < end;
          i++
        ) {
          rows.push(region.items[i]);
        }
        const stop = rows.find((item) => isFocused(item, region)) ?? rows.find(isStop);
        return (
          <div
            key={region.isPins ? "pins" : "list"}
            class={region.isPins ? "tl-region tl-pins" : "tl-region"}
            style={{ top: `${region.top}px`, height: `${region.bottom - region.top}px` }}
            onScroll={(e) => followScroll(e.currentTarget, region, timeline)}
          >
            {rows.map((item) => (
              <Row
                key={item.kind === "hidden" ? `${item.id}#` : item.id}
                item={item}
                region={region}
                timeline={timeline}
                actions={actions}
                isTabStop={item === stop}
              />
            ))}
            <Stuck region={region} timeline={timeline} actions={actions} />
          </div>
        );
      })}
    </div>
  );
}
