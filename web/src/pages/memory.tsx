/** The Memory page: curves over time, the operators that allocate, the peaks of components. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hasNothing, type Params } from "../api/client";
import type { Rank, Table } from "../api/types";
import { registerUrl, urlChanged } from "../model/url_state";
import { Atom, useAtom } from "../base/atom";
import { duration } from "../base/time";
import { usePartner } from "../model/baseline";
import { goto, shiftOf, tab } from "../model/session";
import { markers } from "../model/timeline";
import { Curves, type Curve, type Shade } from "../panels/chart";
import { useColours } from "../panels/drawing";
import { Empty, Failed, Loading } from "../panels/empty";
import { Check, RankPicker, Segments, useRank } from "../panels/form";
import { DataTable, type TableRow } from "../panels/table";
import { language, t } from "../words";
import type { Pairing } from "./beside";
import { BaselinePicker, BesideTable } from "./beside_table";
import { useReply, wholeTable } from "./data";
import { curvesBeside, curvesOf, heldLines, momentsOf, peakAbout, unitOf } from "./memory_model";
import { RankGate } from "../panels/rank_gate";
import { Thinned } from "../panels/thinned";

const BY = ["overall", "stream", "component"] as const;
type By = (typeof BY)[number];

/** Operators that allocate or release, or those whose memory is held at a moment. */
const WHICH = ["changed", "held"] as const;
type Which = (typeof WHICH)[number];

interface State {
  rank: string;
  by: By;
  /** Zoomed to, rankNs. */
  span: { from: number; to: number } | null;
  /** Only operators that allocate or release within it. */
  inside: boolean;
  which: Which;
  /** Held then, rankNs; null: at the peak of what is shown. */
  at: number | null;
}

const state = new Atom<State>({
  rank: "",
  by: "overall",
  span: null,
  inside: true,
  which: "changed",
  at: null,
});

const part = {
  prefix: "mem",
  read: (): Record<string, string> => {
    const { rank, by, span, inside, which, at } = state.get();
    return {
      ...(which === "changed" ? {} : { which }),
      ...(at === null ? {} : { at: String(Math.round(at)) }),
      ...(rank === "" ? {} : { rank }),
      ...(by === "overall" ? {} : { by }),
      ...(span === null ? {} : { span: `${Math.round(span.from)},${Math.round(span.to)}` }),
      ...(inside ? {} : { inside: "0" }),
    };
  },
  write: (from: Record<string, string>): void => {
    const [a, b] = (from.span ?? "").split(",").map(Number);
    state.set({
      rank: from.rank ?? "",
      by: BY.find((b_) => b_ === from.by) ?? "overall",
      inside: from.inside !== "0",
      which: WHICH.find((w) => w === from.which) ?? "changed",
      at: Number.isFinite(Number(from.at ?? NaN)) ? Number(from.at) : null,
      span: a !== undefined && b !== undefined && a < b ? { from: a, to: b } : null,
    });
  },
};

function change(to: Partial<State>): void {
  state.set({ ...state.get(), ...to });
  urlChanged();
}

/** What of the tables is compared: operators by name, components by what is measured of them. */
const NAMES: Pairing = { keys: ["name"], sums: ["number", "size"] };
const COMPONENTS: Pairing = { keys: ["component", "what", "device"], plain: ["start"] };

/** Points of a curve that are asked for: more than a screen has pixels, since peaks are kept. */
const POINTS = 2000;

export function MemoryPage() {
  const { rank: key, by, span } = useAtom(state);
  const rank = useRank(key);
  useEffect(() => registerUrl(part), []);
  return (
    <main class="page">
      <div class="controls-row">
        <RankPicker rank={rank} onChange={(next) => change({ rank: next, span: null, at: null })} />
        {rank !== null && <BaselinePicker now={rank.cluster} rank={rank} />}
        <span class="quiet">{t("operator.group-by")}</span>
        <Segments
          label={t("operator.group-by")}
          value={by}
          options={BY.map((b) => [b, t(`memory.${b}`)] as const)}
          onChange={(next) => change({ by: next })}
        />
        {span !== null && (
          <>
            <span class="quiet">{t("memory.span", duration(span.from), duration(span.to))}</span>
            <button type="button" onClick={() => zoom(null)}>
              {t("memory.reset")}
            </button>
            <button type="button" onClick={() => rank !== null && showSpan(rank, span)}>
              {t("memory.to-timeline")}
            </button>
          </>
        )}
      </div>
      <RankGate rank={rank}>
        {rank !== null && <Thinned ranks={[rank]} />}
        {rank !== null && <Memory key={rank.key} rank={rank} by={by} span={span} />}
      </RankGate>
    </main>
  );
}

function showSpan(rank: Rank, span: { from: number; to: number }): void {
  const shift = shiftOf(rank);
  goto.set({ span: { from: span.from + shift, to: span.to + shift }, rank: rank.key });
  tab.set("timeline");
}

/** A moment that is out of sight would be one that nobody sees. */
function zoom(span: State["span"]): void {
  const { at } = state.get();
  const isSeen = at === null || span === null || (at >= span.from && at < span.to);
  change({ span, at: isSeen ? at : null });
}

const paramsOf = (span: { from: number; to: number } | null): Params =>
  span === null ? {} : { from: Math.floor(span.from), to: Math.ceil(span.to) };

function Memory({ rank, by, span }: { rank: Rank; by: By; span: State["span"] }) {
  const { inside, which, at } = useAtom(state);
  const [hovered, setHovered] = useState<TableRow | null>(null);
  const [isNone, setNone] = useState(false);
  const isHeld = which === "held";
  const of: Params = paramsOf(
    !isHeld ? (inside ? span : null) : at === null ? span : { from: at, to: at + 1 },
  );
  const held = useHeld(rank, isHeld && !isNone ? of : null);
  const only: Params = isHeld ? { ...of, which } : of;
  return (
    <>
      <CurveCard {...{ rank, by, span, hovered, setNone }} moments={momentsOf(held.data)} />
      {!isNone && (
        <div class="controls-row">
          <span class="quiet">{t("memory.operators")}</span>
          <Segments
            label={t("memory.operators")}
            value={which}
            options={WHICH.map((w) => [w, t(`memory.${w}`)] as const)}
            onChange={(next) => change({ which: next })}
          />
          {!isHeld && (
            <Check
              label={t("memory.inside")}
              checked={inside}
              onChange={(on) => change({ inside: on })}
            />
          )}
          {!isHeld && inside && span === null && (
            <span class="quiet">{t("memory.inside-hint")}</span>
          )}
          {isHeld && at !== null && (
            <button type="button" onClick={() => change({ at: null })}>
              {t("memory.to-peak")}
            </button>
          )}
        </div>
      )}
      {isHeld && held.error !== null && !isNone && <Failed error={held.error} retry={held.retry} />}
      {isHeld &&
        held.data !== null &&
        heldLines(held.data, at).map((line) => (
          <p class="memory-held" key={line}>
            {line}
          </p>
        ))}
      {!isNone && (
        <div class="card flush">
          <BesideTable
            of={rank}
            view="memory_names"
            params={only}
            pairing={NAMES}
            lead={["size"]}
            urlKey="memnames"
            maxRows={8}
            bars={{ size: "--computing" }}
            sort={{ column: "size", desc: true }}
          />
        </div>
      )}
      <div class="card flush">
        <DataTable
          path="view"
          params={{ name: "memory_operators", rank: rank.key, ...only }}
          urlKey="memory"
          maxRows={12}
          bars={{ size: "--computing" }}
          sort={{ column: "size", desc: true }}
          hidden={["active release", "active duration", "device"]}
          onHover={setHovered}
        />
      </div>
      {!isNone && (
        <div class="card flush">
          <BesideTable
            of={rank}
            view="memory_components"
            pairing={COMPONENTS}
            lead={["peak"]}
            maxRows={8}
            bars={{ peak: "--computing" }}
            sort={{ column: "peak", desc: true }}
          />
        </div>
      )}
    </>
  );
}

/** The same curves of the partner in the baseline, and by how much they are moved so that both captures begin together. */
function useBaseCurve(
  rank: Rank,
  by: By,
  span: State["span"],
): { table: Table; shift: number } | null {
  const partner = usePartner(rank);
  const isReady = partner?.state === "ready";
  const shift = isReady ? (rank.start ?? 0) - (partner.start ?? 0) : 0;
  const zoomed =
    span === null ? {} : { from: Math.floor(span.from) - shift, to: Math.ceil(span.to) - shift };
  const key = isReady ? partner.key : "";
  const { data } = useReply(
    JSON.stringify([key, by, zoomed]),
    isReady
      ? async (signal) => ({
          of: key,
          table: await wholeTable(
            "view",
            { name: "memory_curve", rank: key, by, points: POINTS, ...zoomed },
            null,
            signal,
          ),
        })
      : null,
  );
  const table = data !== null && data.of === key ? data.table : null;
  return useMemo(() => (table === null ? null : { table, shift }), [table, shift]);
}

/** What is held, device by device; null: it is not asked for. */
const useHeld = (rank: Rank, of: Params | null) =>
  useReply(
    JSON.stringify([rank.key, of]),
    of === null
      ? null
      : (signal) =>
          wholeTable("view", { ...of, name: "memory_held", rank: rank.key }, null, signal),
  );

/** `setNone`: the profile knows nothing of memory, which is said once. */
function CurveCard({
  rank,
  by,
  span,
  hovered,
  setNone,
  moments,
}: {
  rank: Rank;
  by: By;
  span: State["span"];
  hovered: TableRow | null;
  setNone: (is: boolean) => void;
  /** At which memory is held. */
  moments: number[];
}) {
  const colours = useColours();
  /** Before the last click on the curves. */
  const picked = useRef<Partial<State>>({});
  const zoomed = paramsOf(span);
  const reply = useReply(JSON.stringify([rank.key, by, zoomed]), (signal) =>
    wholeTable(
      "view",
      { name: "memory_curve", rank: rank.key, by, points: POINTS, ...zoomed },
      null,
      signal,
    ),
  );
  useEffect(() => setNone(hasNothing(reply.error)), [reply.error]);
  const base = useBaseCurve(rank, by, span);
  const spoken = useAtom(language);
  const data = useMemo(() => {
    const now = reply.data;
    return now === null
      ? null
      : base === null
        ? curvesOf(now)
        : curvesBeside(now, base.table, base.shift, t("memory.of-baseline"));
  }, [reply.data, base, spoken]);
  const unit = unitOf(data?.lines ?? []);
  const lead = data?.lines.some((l) => l.owner === "operators")
    ? "operators"
    : data?.lines[0]?.owner;
  const curves = useMemo(
    (): Curve[] =>
      (data?.lines ?? []).map((line, i) => ({
        name: line.name,
        colour: colourOf(i, line, lead, colours),
        values: line.values.map((v) => (v === null ? null : v / unit.bytes)),
        isStep: true,
        ...(line.what === "reserved" ? { dash: [6, 3] } : {}),
      })),
    [data, colours],
  );
  const marked = useAtom(markers);
  const shift = shiftOf(rank);
  const shades = useMemo(
    (): Shade[] =>
      marked
        .filter((m) => m.to !== null)
        .map((m) => ({
          from: m.from - shift,
          to: m.to! - shift,
          colour:
            typeof m.colour === "string" ? m.colour : (colours.tints[m.colour] ?? colours.accent),
          name: m.name,
        })),
    [marked, shift, colours],
  );
  const marks = useMemo(
    () => [
      ...moments,
      ...["start", "release"]
        .map((name) => hovered?.get(name))
        .filter((v): v is number => typeof v === "number"),
    ],
    [hovered, moments.join()],
  );
  return (
    <section class="card">
      <h3>{t("memory.curve")}</h3>
      {reply.error !== null ? (
        <Failed error={reply.error} retry={reply.retry} />
      ) : data === null ? (
        <Loading />
      ) : data.x.length === 0 ? (
        <Empty title={t("table.none")} />
      ) : (
        <Curves
          title={t("memory.curve")}
          x={data.x}
          curves={curves}
          unit={unit.name}
          height={260}
          shades={shades}
          marks={marks}
          span={span}
          onSpan={zoom}
          onPick={(i, j) => {
            const { which, at } = state.get();
            picked.current = { which, at };
            change({ which: "held", at: peakAbout(data, i, j) });
          }}
          onUnpick={() => change(picked.current)}
        />
      )}
    </section>
  );
}

/** What is reserved lies over what is allocated: strong colours for the one that people look for (`lead`), no two alike. */
function colourOf(
  i: number,
  { owner, what }: { owner: string; what: string },
  lead: string | undefined,
  colours: ReturnType<typeof useColours>,
): string {
  const first =
    what === "allocated"
      ? colours.lanes[0]
      : what === "reserved"
        ? colours.lanes[1]
        : what === "active"
          ? colours.lanes[2]
          : undefined;
  return owner === lead && first !== undefined ? first : (colours.tints[i % 12] ?? colours.accent);
}
