/** Below the tables of a comparison: the slices of a row on both sides, and both sides in the timeline and on the Pipeline page. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Rank, Table } from "../api/types";
import { useAtom } from "../base/atom";
import type { Ns } from "../base/ns";
import { fail, lowerUnless, notify } from "../model/notices";
import { load, offsets, ranks, tab } from "../model/session";
import { bottomHeight, bottomOpen, listScroll, resetWindow, systemRank } from "../model/timeline";
import { layoutInput, touchTree, tree, treeChanged, wantLanes } from "../model/tree";
import { Select } from "../panels/form";
import { DataTable } from "../panels/table";
import { jumpTo } from "../panels/table_actions";
import type { TableJump } from "../panels/table_options";
import { rankWord, t } from "../words";
import { pairsOf, slicesOf, type Named, type PlacesAt } from "./compare_model";
import { isOneRank, isOneStep, ranksOf, type Side, type Sides } from "./compare_sides";
import { compare, comparing } from "./compare_state";
import { cluster } from "./job_state";
import { showPipelineOf, under } from "./pipeline_state";
import { readyRank } from "./ready_rank";

interface PlacesProps {
  table: Named;
  name: string;
  /** What each side calls the shapes or the group of the row. */
  details: readonly [now: string, base: string];
  sides: Sides;
  stages: ReadonlyMap<number, number>;
  of: PlacesAt;
}

export function Places({ table, name, details, sides, stages, of }: PlacesProps) {
  const known = useAtom(ranks);
  const at = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState<Readonly<Record<string, Table>>>({});
  // Which capture they are of stands over them.
  const rankText = (text: string): string => {
    const rank = known.find((r) => r.label === text || r.key === text)?.rank;
    const stage = rank === undefined ? undefined : stages.get(rank);
    const own = rank === undefined ? text : t("where.rank", rank);
    return stage === undefined ? own : `${own}, ${t("where.stage", stage)}`;
  };
  const halves = [sides.now, sides.base].map((side: Side, i) => {
    const all = ranksOf(known, side);
    const wanted = of === null || isOneRank(side) ? all : all.filter((r) => isAt(of, r.rank));
    const own = wanted.length > 0 ? wanted : all;
    const ready = own.filter((r) => r.state === "ready").map((r) => r.key);
    const asked = slicesOf(table, name, details[i]);
    const ofStep = isOneStep(side) ? { step_id: side.step } : {};
    const params = asked === null ? null : { ...asked, ...ofStep, ranks: ready.join(",") };
    return { own, isAny: ready.length > 0, params, key: JSON.stringify([i, params]) };
  });
  const where =
    of === null || isOneRank(sides.now) || isOneRank(sides.base)
      ? ""
      : "rank" in of
        ? t("where.rank", of.rank)
        : t("where.stage", of.stage);
  const titleOf = (side: number): string =>
    [where, t(side === 0 ? "compare.places-new" : "compare.places-base", name)]
      .filter((part) => part !== "")
      .join(" \u00b7 ");
  // Numbers of both are read against one another: what came first of each says in which units.
  const [one, other] = halves.map(({ key }) => first[key]);
  const alike = useMemo(
    () => [one, other].filter((came): came is Table => came !== undefined),
    [one, other],
  );
  // Its height is known once rows are there. Another rank that is chosen later leaves the page where it is.
  const isSeen = useRef(false);
  const n = halves.filter(({ isAny }) => isAny).length;
  useEffect(() => {
    if (!isSeen.current) {
      at.current?.scrollIntoView({ block: "nearest" });
      isSeen.current = alike.length >= n;
    }
  }, [alike]);
  if (halves[0].params === null) {
    return <p class="quiet">{t("compare.no-places", name)}</p>;
  }
  return (
    <div class="columns-wide" ref={at}>
      {halves.map(({ own, isAny, params, key }, i) => (
        <div class="card flush" key={i}>
          {!isAny && <h3 class="card-note">{titleOf(i)}</h3>}
          <Unread own={own} />
          {isAny && (
            <DataTable
              path="search/table"
              params={params!}
              alike={alike}
              jump={TO_SLICE}
              onTable={(came) => setFirst((all) => ({ [key]: came, ...all }))}
              title={titleOf(i)}
              maxRows={8}
              rankText={rankText}
              hidden={["name"]}
              sort={{ column: "duration", desc: true }}
            />
          )}
        </div>
      ))}
    </div>
  );
}

const TO_SLICE: TableJump = {
  isThere: true,
  can: (row) => row.get("slice") !== null,
  to: (row) => void jumpTo(row, undefined, true),
};

const isAt = (of: NonNullable<PlacesAt>, rank: number): boolean =>
  "rank" in of ? of.rank === rank : of.ranks.includes(rank);

/** How many ranks of a capture are not looked at, and the way to read them. */
function Unread({ own }: { own: readonly Rank[] }) {
  const unread = own.filter((r) => r.state !== "ready");
  const waiting = unread.filter((r) => r.state === "waiting").map((r) => r.key);
  return unread.length === 0 ? null : (
    <p class="quiet card-note">
      {unread.length === own.length
        ? t("frame.waiting", unread.length)
        : t("compare.partly-read", unread.length, own.length)}{" "}
      {waiting.length > 0 && (
        <button type="button" onClick={() => void load(waiting).catch(fail)}>
          {t(waiting.length === 1 ? "frame.load" : "frame.load-all")}
        </button>
      )}
    </p>
  );
}

// --- rank beside rank ------------------------------------------------------------------------------------------------------

/** Which ranks stand beside one another in the timeline: those that were chosen, else a rank of either capture of the same number. The same
 * rank twice cannot. */
export function Pairs({ now, base }: Sides) {
  const known = useAtom(ranks);
  const isChosen = isOneRank(now) || isOneRank(base);
  const pairs = useMemo(() => pairsOf(known, now.cluster, base.cluster), [known, now, base]);
  const { rank } = useAtom(comparing);
  const [own, other] = [ranksOf(known, now)[0], ranksOf(known, base)[0]];
  const chosen = isChosen
    ? { rank: -1, now: own, base: other }
    : (pairs.find((p) => String(p.rank) === rank) ?? pairs[0]);
  const isPair = chosen?.now !== undefined && chosen.base !== undefined;
  if (!isPair || chosen.now === chosen.base) {
    return null;
  }
  return (
    <div class="controls-row">
      {!isChosen && (
        <Select
          label={t("compare.pair")}
          value={String(chosen.rank)}
          options={pairs.map((p) => [String(p.rank), `rank ${p.rank}`] as const)}
          onChange={(next) => compare({ rank: next })}
        />
      )}
      <button type="button" onClick={() => void beside(chosen.now, chosen.base).catch(fail)}>
        {t("compare.timelines")}
      </button>
      {now.cluster !== base.cluster && (
        <button
          type="button"
          onClick={() =>
            above(now.cluster, base.cluster, isChosen || rank !== "" ? chosen.now.rank : null)
          }
        >
          {t("compare.pipelines")}
        </button>
      )}
    </div>
  );
}

/** The pipelines of both on the Pipeline page, on one clock; `rank`: that of the rank which is chosen. */
function above(now: number, base: number, rank: number | null): void {
  cluster.set(now);
  under.set(`beside:${base}`);
  if (rank !== null) {
    showPipelineOf(rank);
  }
  tab.set("pipeline");
}

/** Header, tools, axis and minimap; the tabs of the lower panel. */
const ABOVE_PX = 200;
const TABS_PX = 32;

/** How high the lanes of the timeline are that are seen at once; the page is not there yet. */
const roomOfLanes = (): number =>
  innerHeight - ABOVE_PX - (bottomOpen.get() ? bottomHeight.get() : TABS_PX);

/** Both ranks alone in the timeline, on one scale, from the beginning of their first steps. */
async function beside(now: Rank, base: Rank): Promise<void> {
  await readyRank(now.key);
  await readyRank(base.key);
  const found = await get<{ offsets: { rank: string; offset_ns: Ns }[] }>("align", { by: "steps" });
  const before = { offsets: offsets.get(), ranks: tree.shownRanks };
  offsets.set(
    new Map(found.offsets.filter((o) => o.offset_ns !== 0).map((o) => [o.rank, o.offset_ns])),
  );
  await Promise.all([now.key, base.key].map(wantLanes));
  tree.showTogether(layoutInput(), [now.key, base.key], roomOfLanes());
  systemRank.set(now.key);
  listScroll.set(0);
  touchTree();
  tab.set("timeline");
  resetWindow();
  const shown = (): string => JSON.stringify([[...offsets.get()], [...(tree.shownRanks ?? [])]]);
  const alone = shown();
  const text = t("compare.both-shown", rankWord(now.label), rankWord(base.label));
  const told = notify("info", text, () => {
    offsets.set(before.offsets);
    tree.shownRanks = before.ranks;
    touchTree();
    resetWindow();
  });
  const isSo = (): boolean => tab.get() === "timeline" && shown() === alone;
  lowerUnless(told, isSo, [tab, offsets, treeChanged]);
}
