/** What the pointer is on, said beside it: a slice, the value of a counter, or an arrow. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Slice } from "../api/types";
import { useAtom } from "../base/atom";
import type { Ns } from "../base/ns";
import { duration, exact, signedDuration } from "../base/time";
import { laneShift } from "../model/rank_lanes";
import { viewport, windowChanged } from "../model/timeline";
import type { Item } from "../model/lanes";
import { sliceWord, t } from "../words";
import { longTime } from "./axis";
import type { DrawnFlow } from "./draw_over";
import type { SliceHit } from "./hit";
import { movedBy, shiftOf } from "../model/session";
import { pipelineDetails, pipelineHit, type PipelineHit } from "./pipeline_lane";
import { number } from "./label_column";
import type { Timeline } from "./timeline";

/** So far from the pointer. */
const TIP_PX = 14;
/** Nearer to the window's edges it stands on the other side. */
const ROOM = { right: 320, below: 120 };
/** The pointer rests for so long on a slice before its exact times are asked for. */
const REST_MS = 40;

export function Tip({ timeline }: { timeline: Timeline }) {
  useAtom(windowChanged);
  const { cursor, hover, line } = timeline.pointer;
  const full = useExact(hover);
  if (cursor === null || cursor.y < 0) {
    return null;
  }
  const content =
    hover !== null
      ? sliceTip(hover, timeline.data.names.get(hover.rank.key, hover.name), full)
      : (pipelineTip(line ?? pipelineHit(timeline.scene, viewport, cursor.x, cursor.y, shiftOf)) ??
        counterTip(timeline, timeline.scene.itemAt(cursor.y)?.item, cursor.x) ??
        flowTip(timeline.flowAt(cursor.x, cursor.y)));
  const plot = timeline.parts.over.getBoundingClientRect();
  return content === null ? null : (
    <div class="tl-tip" role="tooltip" style={besides(plot.left + cursor.x, plot.top + cursor.y)}>
      {content}
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

function sliceTip(hit: SliceHit, name: string | undefined, full: Slice | null) {
  const dur = full?.dur ?? hit.to - hit.from;
  return (
    <>
      {hit.count > 1 && <div class="quiet">{t("timeline.slices-longest", hit.count)}</div>}
      <div class="mono tl-tip-name">{name === undefined ? "\u2026" : sliceWord(name)}</div>
      <div>
        {duration(dur)} {full !== null && dur >= 1000 && <span class="quiet">{exact(dur)}</span>}
      </div>
      <div class="quiet">
        {full === null
          ? "\u2026"
          : longTime(full.start + laneShift(hit.rank, hit.item.lanes!, hit.item.node))}
      </div>
      {movedLine(
        movedBy(hit.rank) + laneShift(hit.rank, hit.item.lanes!, hit.item.node) - shiftOf(hit.rank),
      )}
    </>
  );
}

/** The times above are those of the axis: by how much they are not the rank's own. */
const movedLine = (by: Ns) =>
  by === 0 ? null : <div class="quiet">{t("timeline.moved-by", signedDuration(by))}</div>;

function counterTip(timeline: Timeline, item: Item | undefined, x: number) {
  if (item?.kind !== "counter" || item.rank === null || item.lanes === null) {
    return null;
  }
  const shift = laneShift(item.rank, item.lanes, item.node);
  const px = x * timeline.scene.scale;
  const value = timeline.painter.counterAt(item, item.rank, shift, viewport, px);
  return Number.isNaN(value) ? null : (
    <>
      <div>{item.label}</div>
      <div>
        {number(value)} {item.lanes.nodes[item.node].unit}
      </div>
      <div class="quiet">{longTime(viewport.ns(x))}</div>
    </>
  );
}

function pipelineTip(hit: PipelineHit | null) {
  const details = hit === null ? null : pipelineDetails(hit);
  return details === null ? null : (
    <>
      <div>
        <b>{details.title}</b> <span class="quiet">{details.kind}</span>
      </div>
      {details.lines.map(([name, value, more]) => (
        <div key={name}>
          <span class="quiet">{name}</span> {value} <span class="quiet">{more}</span>
        </div>
      ))}
      {movedLine(movedBy(hit!.rank))}
      {hit!.kind !== "ops" && <div class="quiet">{t("timeline.pipeline-hint")}</div>}
    </>
  );
}

function flowTip(flow: DrawnFlow | null) {
  return flow === null ? null : (
    <>
      <div class="quiet">{flow.kind}</div>
      <div class="mono">
        {sliceWord(flow.from?.name ?? "")} {"\u2192"} {sliceWord(flow.to?.name ?? "")}
      </div>
    </>
  );
}

function besides(x: number, y: number): Record<string, string> {
  return {
    ...(x > innerWidth - ROOM.right
      ? { right: `${innerWidth - x + TIP_PX}px` }
      : { left: `${x + TIP_PX}px` }),
    ...(y > innerHeight - ROOM.below
      ? { bottom: `${innerHeight - y + TIP_PX}px` }
      : { top: `${y + TIP_PX}px` }),
  };
}
