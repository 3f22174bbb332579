/** Where is it: all ranks of the job in their places, coloured by a figure that some table says of each. */
import { useMemo, useState } from "preact/hooks";
import type { Params } from "../api/client";
import type { Table } from "../api/types";
import { useAtom } from "../base/atom";
import { duration, exact, fixed, percent, signedText, significant, unitFor } from "../base/time";
import { firstCapture } from "../model/captures";
import { session, tab } from "../model/session";
import { groupInCommunication } from "../model/timeline";
import { useScale } from "../panels/chart_heat";
import { useColours, type Hit } from "../panels/drawing";
import { Failed } from "../panels/empty";
import { Check, Segments, Select } from "../panels/form";
import { t, type Word } from "../words";
import { groupOfRanks } from "./communication_model";
import { chartTable, groupMapping, modeTable, useReply, wholeTable } from "./data";
import { setupParams } from "./parallel_form";
import type { Entry } from "./summary_model";
import { change, GOES, state } from "./summary_state";
import { roomFor, linkColour, WhereGrid, type Box, type Link } from "./where_grid";
import {
  differenceOf,
  dimensionsOf,
  DIMENSIONS,
  figuresOfSteps,
  figuresOfTable,
  filterOf,
  membersOf,
  metricAtFirst,
  metricOf,
  METRICS,
  placeText,
  worstStep,
  type Dimension,
  type Figures,
  type Groups,
  type Metric,
  type Spot,
} from "./where_model";
import { stepInPipeline, stepInTimeline } from "./where_travel";

export interface WhereProps {
  entries: Entry[];
  /** Those that may be chosen; and which is, null: all. */
  steps: string[];
  step: string | null;
  spots: Spot[];
  /** Else the spots are by numbers alone. */
  isArranged: boolean;
  groups: Groups;
  /** Dimensions that are folded into one box. */
  folded: readonly Dimension[];
  details: (rank: string | null) => void;
  /** What stands beside it; null: nothing. */
  base: BaseRanks | null;
}

export interface BaseRanks {
  cluster: number;
  entries: Entry[];
  step: string | null;
}

const NOBODY: Whose = { entries: [], step: null, params: {} };
const nameOf = (m: Metric): string => t(`metric.${m.id}` as Word);
/** What stands in lines of the tip; more are counted. */
const MEMBERS_IN_TIP = 8;
/** Beside the grid. */
const LIST_PX = 280;
const LISTED = 8;

interface Told {
  metric: Metric;
  figures: Figures;
  /** Of one step, where there are several. */
  ofStep: (step: string) => Figures;
  isLoading: boolean;
  error: unknown;
  retry: () => void;
}

/** Of which ranks figures are: entries of steps, the step (null: all), and what says whose tables. */
interface Whose {
  entries: Entry[];
  step: string | null;
  params: Params;
}

/** The figures of a metric; null: of nobody. From the table of steps at once, from other analyses when they are asked for. */
function useFigures(id: string, whose: Whose | null): Told {
  const metric = metricOf(id);
  const source = whose === null ? null : metric.source;
  const { entries, step, params } = whose ?? NOBODY;
  const reply = useReply<Table | null>(
    JSON.stringify([source?.mode, source?.table, params]),
    source === null
      ? null
      : (signal) =>
          source.mode === "whatif"
            ? wholeTable("whatif", params, source.table, signal)
            : source.mode === "chart"
              ? chartTable(source.table, params, signal)
              : modeTable(source.mode, source.table, params, signal),
  );
  const table = source === null ? null : reply.data;
  const ofStep = (of: string | null): Figures =>
    metric.source === null
      ? figuresOfSteps(entries, of, metric)
      : source === null || table?.name !== source.table
        ? new Map()
        : figuresOfTable(table, source, metric.unit, of);
  const figures = useMemo(() => ofStep(step), [entries, table, id, step]);
  return {
    metric,
    figures,
    ofStep,
    isLoading: source !== null && reply.isLoading && reply.error === null,
    error: source === null ? null : reply.error,
    retry: reply.retry,
  };
}

/** How a figure is written: "12.4", in "ms". */
interface Written {
  unit: string;
  per: number;
}

function writtenAs(metric: Metric, figures: Figures): Written {
  if (metric.unit !== "ns") {
    return { unit: { "%": "%", x: "×", n: "" }[metric.unit], per: 1 };
  }
  const most = [...figures.values()].reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const unit = unitFor(most);
  return { unit: unit.name, per: unit.ns };
}

export function Where(p: WhereProps) {
  const now = useAtom(state);
  const metric = now.metric !== "" ? now.metric : metricAtFirst(p.entries);
  const params = setupParams(now.setup);
  const told = useFigures(metric, { ...p, params });
  const there = useFigures(
    metric,
    p.base === null ? null : { ...p.base, params: { ...params, cluster: p.base.cluster } },
  );
  const base = p.base !== null && now.plain === "" ? there : null;
  const shown = useMemo(
    () => (base === null ? told.figures : differenceOf(told.figures, base.figures)),
    [told.figures, base?.figures],
  );
  const { spots } = p;
  const accepts = filterOf(now.where);
  const boxes = useMemo(
    () => boxesOf(spots, shown, p.folded, accepts ?? (() => true)),
    [spots, shown, p.folded.join(), now.where],
  );
  const failed = [told, base].find((one) => one !== null && one.error !== null);
  if (spots.length < 2) {
    return null;
  }
  return (
    <section class="card" id="where">
      <h3>{t("where.title")}</h3>
      <Choosing
        metric={metric}
        kinds={dimensionsOf(spots).filter((d) => p.groups[d] !== undefined)}
        isWrong={accepts === null}
        hasBase={p.base !== null}
      />
      {!p.isArranged && <p class="quiet">{t("where.unplaced")}</p>}
      {failed !== undefined && failed !== null ? (
        <Failed error={failed.error} retry={failed.retry} />
      ) : (
        <Plot {...p} told={told} there={base} shown={shown} boxes={boxes} />
      )}
    </section>
  );
}

interface ChoosingProps {
  metric: string;
  kinds: Dimension[];
  isWrong: boolean;
  hasBase: boolean;
}

function Choosing({ metric, kinds, isWrong, hasBase }: ChoosingProps) {
  const now = useAtom(state);
  const colours = useColours();
  const drawn = now.links.split(",");
  const toggle = (kind: Dimension, on: boolean): void =>
    change({
      links: DIMENSIONS.filter((d) => (d === kind ? on : drawn.includes(d))).join(",") || "none",
    });
  return (
    <div class="controls-row">
      <Select
        label={t("where.metric")}
        value={metric}
        options={(["step", "pipeline", "waits", "experts"] as const).map((group) => ({
          name: t(`where.of-${group}`),
          options: METRICS[group].map((m) => [m.id, nameOf(m)] as const),
        }))}
        onChange={(chosen) => change({ metric: chosen, least: "", most: "" })}
      />
      {hasBase && (
        <Check
          label={t("comm.difference")}
          checked={now.plain === ""}
          onChange={(on) => change({ plain: on ? "" : "1", least: "", most: "" })}
        />
      )}
      <label title={t("where.filter-hint")}>
        {t("where.filter")}
        <input
          class={isWrong ? "wrong" : ""}
          aria-invalid={isWrong}
          placeholder="pp=2 dp=0-3"
          value={now.where}
          onInput={(e) => change({ where: e.currentTarget.value })}
        />
      </label>
      <label>
        {t("where.find")}
        <input
          type="number"
          min={0}
          value={now.at}
          onInput={(e) => change({ at: e.currentTarget.value })}
        />
      </label>
      {kinds.length > 0 && <span class="quiet">{t("where.links")}</span>}
      {kinds.map((kind) => (
        <span key={kind} class="link-kind" style={{ "--of": linkColour(kind, colours) }}>
          <Check
            label={kind.toUpperCase()}
            checked={drawn.includes(kind)}
            onChange={(on) => toggle(kind, on)}
          />
        </span>
      ))}
      <span class="quiet">{t("where.goes")}</span>
      <Segments
        label={t("where.goes")}
        value={now.goes}
        options={GOES.map((g) => [g, t(`where.goes-${g}`)] as const)}
        onChange={(goes) => change({ goes })}
      />
    </div>
  );
}

type PlotProps = WhereProps & {
  told: Told;
  /** Of the baseline, where the difference to it is shown. */
  there: Told | null;
  shown: Figures;
  boxes: Box[];
};

function Plot(p: PlotProps) {
  const now = useAtom(state);
  const { told, there, boxes } = p;
  const written = writtenAs(told.metric, p.shown);
  const text = there === null ? significant : (v: number): string => signedText(v, significant);
  const shown = useMemo(
    () =>
      boxes.map((b) => ({ ...b, value: b.value === undefined ? b.value : b.value / written.per })),
    [boxes, written.per],
  );
  const scale = useScale(
    { ...endsOf(shown, there !== null), unit: written.unit, text, isDifference: there !== null },
    [{ least: now.least, most: now.most }, change],
  );
  const [width] = useState(() => innerWidth - 52 - LIST_PX);
  const room = useMemo(() => roomFor(boxes, width), [boxes, width]);
  const byRank = useMemo(
    () => new Map(shown.flatMap((b) => b.ranks.map((r) => [r, b] as const))),
    [shown],
  );
  const drawn = DIMENSIONS.filter((d) => now.links.split(",").includes(d));
  const kept = byRank.get(now.at) ?? null;
  const linksOf = useMemo(
    () => (box: Box) => drawn.map((kind) => linkOf(kind, box, p.groups, byRank)),
    [byRank, p.groups, now.links],
  );
  const go = (box: Box): void => goFrom(box, p, told);
  const many = dimensionsOf(p.spots);
  const about = useAbout(p, many);
  const nUnknown = shown.filter((b) => b.value === undefined).length;
  return (
    <>
      <div class="heat-range">
        {scale.bar}
        {nUnknown > 0 && (
          <span class="unknown-key">
            {told.isLoading || there?.isLoading === true
              ? t("where.working")
              : t("where.unknown", String(nUnknown), String(shown.length))}
          </span>
        )}
      </div>
      <div class="where-plot">
        <div class="where-grid" style={{ maxWidth: `${room.width}px` }}>
          <WhereGrid
            title={[
              t("where.of", nameOf(told.metric)),
              ...(there === null ? [] : [t("comm.difference")]),
            ].join(" ")}
            boxes={shown}
            scale={scale}
            text={text}
            titleOf={(box) => titleOf(box, many)}
            linesOf={about}
            linksOf={linksOf}
            kept={kept}
            keep={(box) => change({ at: box === null || box === kept ? "" : box.spot.rank })}
            go={go}
            height={room.height}
          />
        </div>
        <Largest
          boxes={shown}
          many={many}
          kept={kept}
          textOf={(value) => `${text(value)} ${written.unit}`}
          go={go}
        />
      </div>
      <p class="quiet">{t("where.hint")}</p>
      {kept !== null && (
        <Kept
          box={kept}
          lines={about(kept)}
          title={titleOf(kept, many)}
          go={go}
          groups={many
            .map((kind) => [kind, membersOf(p.groups, kind, kept.spot.rank)] as const)
            .filter(([, members]) => members.length > 1)}
        />
      )}
    </>
  );
}

/** From the least to the largest figure; of differences as far to both sides of 0. */
function endsOf(boxes: Box[], isDifference: boolean): { least: number; most: number } {
  let [least, most] = [Infinity, -Infinity];
  for (const { value } of boxes) {
    if (value !== undefined) {
      least = Math.min(least, value);
      most = Math.max(most, isDifference ? Math.abs(value) : value);
    }
  }
  return { least: isDifference ? -most : least, most };
}

/** Those with most of it; a click keeps one, a double click goes there. */
function Largest({
  boxes,
  many,
  kept,
  textOf,
  go,
}: {
  boxes: Box[];
  many: readonly Dimension[];
  kept: Box | null;
  textOf: (value: number) => string;
  go: (box: Box) => void;
}) {
  const most = useMemo(
    () =>
      boxes
        .filter((b) => b.isIn && b.value !== undefined)
        .sort((a, b) => b.value! - a.value!)
        .slice(0, LISTED),
    [boxes],
  );
  return (
    <ol
      class="where-largest"
      aria-label={t("where.largest")}
      style={{ width: `${LIST_PX - 16}px` }}
    >
      <b>{t("where.largest")}</b>
      {most.map((box) => (
        <li key={box.spot.rank}>
          <button
            type="button"
            class="flat"
            aria-pressed={box === kept}
            onClick={() => change({ at: box === kept ? "" : box.spot.rank })}
            onDblClick={() => go(box)}
          >
            <span>{titleOf(box, many)}</span>
            <span>{textOf(box.value!)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

const titleOf = (box: Box, many: readonly Dimension[]): string =>
  [t("where.rank", box.spot.rank), placeText(box.spot, many)].filter(Boolean).join(", ");

function linkOf(kind: Dimension, box: Box, groups: Groups, byRank: ReadonlyMap<string, Box>): Link {
  const members = membersOf(groups, kind, box.spot.rank).map((r) => byRank.get(r));
  return { kind, boxes: [...new Set(members.filter((b) => b !== undefined))] };
}

/** What is said of a box: its figure, beside the mean of all, and whom it talks to. */
function useAbout(p: PlotProps, many: readonly Dimension[]) {
  const colours = useColours();
  const { metric, figures } = p.told;
  const all = [...figures.values()];
  const mean = all.reduce((a, b) => a + b, 0) / Math.max(1, all.length);
  return (box: Box): Hit["lines"] => {
    const value = figures.get(box.spot.rank);
    const lines: Hit["lines"] = [[nameOf(metric), figureText(metric, value)]];
    if (value !== undefined && metric.unit === "ns") {
      lines.push(["", exact(value)]);
    }
    if (p.there !== null) {
      const before = p.there.figures.get(box.spot.rank);
      lines.push([t("comm.there"), figureText(metric, before)]);
      if (value !== undefined && before !== undefined) {
        const more = value - before;
        lines.push([t("comm.difference"), signedText(more, (v) => figureText(metric, v))]);
      }
    }
    if (value !== undefined && mean > 0) {
      const share = value / mean - 1;
      lines.push([t("where.mean"), `${share < 0 ? "−" : "+"}${percent(Math.abs(share))} %`]);
    }
    if (box.spot.key === "") {
      lines.push(["", t("where.not-here")]);
    }
    if (box.ranks.length > 1) {
      lines.push([t("where.largest-of"), t("where.ranks", box.ranks.length)]);
    }
    for (const kind of many) {
      const members = membersOf(p.groups, kind, box.spot.rank);
      if (members.length > 1) {
        const more = members.length - MEMBERS_IN_TIP;
        lines.push([
          t("where.with", kind.toUpperCase()),
          members.slice(0, MEMBERS_IN_TIP).join(", ") + (more > 0 ? ` … +${more}` : ""),
          linkColour(kind, colours),
        ]);
      }
    }
    return lines;
  };
}

function figureText(metric: Metric, value: number | undefined): string {
  if (value === undefined) {
    return t("where.not-known");
  }
  const text = {
    ns: duration,
    "%": (v: number) => `${fixed(v, 1)} %`,
    x: (v: number) => `${fixed(v, 3)} ×`,
    n: String,
  };
  return text[metric.unit](value);
}

/** A rank that is kept, in words, with the communication of each of its groups one click away. */
function Kept({
  box,
  title,
  lines,
  go,
  groups,
}: {
  box: Box;
  title: string;
  lines: Hit["lines"];
  go: (box: Box) => void;
  groups: readonly (readonly [Dimension, readonly string[]])[];
}) {
  const own = firstCapture(useAtom(session));
  const mapping = useReply(`groups ${own}`, (signal) => groupMapping(own, signal)).data;
  const isWithout = (members: readonly string[]): boolean =>
    mapping !== null && groupOfRanks(mapping, members) === null;
  return (
    <div class="controls-row" role="status">
      <b>{title}</b>
      {lines.map(([name, value]) => (
        <span class="quiet">
          {name} {value}
        </span>
      ))}
      <button type="button" onClick={() => go(box)}>
        {t("where.go")}
      </button>
      {groups.map(([kind, members]) => (
        <button
          key={kind}
          type="button"
          disabled={isWithout(members)}
          title={isWithout(members) ? t("where.no-communicator", members.join(", ")) : undefined}
          onClick={() => {
            groupInCommunication.set(members);
            tab.set("communication");
          }}
        >
          {t("where.communication", kind.toUpperCase())}
        </button>
      ))}
      <button type="button" onClick={() => change({ at: "" })}>
        {t("frame.close")}
      </button>
    </div>
  );
}

/** To the step that is chosen; of all the one in which the rank has the most of what is shown. */
function goFrom(box: Box, p: PlotProps, told: Told): void {
  const { rank, key } = box.spot;
  const step = p.step ?? worstStep(rank, p.steps, told.ofStep);
  switch (state.get().goes) {
    case "timeline":
      void stepInTimeline(key, step);
      break;
    case "pipeline":
      void stepInPipeline(rank, step);
      break;
    case "details":
      change({ at: rank });
      p.details(rank);
      break;
  }
}

/** Ranks that differ only in what is folded are one box, with the largest figure of them. */
function boxesOf(
  spots: Spot[],
  figures: Figures,
  folded: readonly Dimension[],
  accepts: (s: Spot, figure: number | undefined) => boolean,
): Box[] {
  const by = new Map<string, Box>();
  for (const spot of spots) {
    const isIn = accepts(spot, figures.get(spot.rank));
    const figure = isIn || folded.length === 0 ? figures.get(spot.rank) : undefined;
    const place = { ...spot };
    folded.forEach((d) => (place[d] = 0));
    const key = `${place.pp} ${place.dp} ${place.cp} ${place.tp}`;
    const box = by.get(key);
    if (box === undefined) {
      by.set(key, { spot: place, ranks: [spot.rank], value: figure, isIn });
      continue;
    }
    const isLarger = figure !== undefined && (box.value === undefined || figure > box.value);
    by.set(key, {
      spot: isLarger ? place : box.spot,
      ranks: [...box.ranks, spot.rank],
      value: isLarger ? figure : box.value,
      isIn: box.isIn || isIn,
    });
  }
  return [...by.values()];
}
