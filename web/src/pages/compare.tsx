/** The page of two captures side by side: what a step lost and where, by name, with the way to both places; rank beside rank in the
 * timeline. The tables are those of `pipescope compare`. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, hasNothing } from "../api/client";
import type { Rank, Table } from "../api/types";
import { useAtom } from "../base/atom";
import type { Ns } from "../base/ns";
import { duration, percent } from "../base/time";
import { baseline, baselineOf, chooseBaseline } from "../model/baseline";
import { openCaptures } from "../model/captures";
import { fail, lowerUnless, notify } from "../model/notices";
import { load, offsets, ranks, session, tab } from "../model/session";
import {
  bottomHeight,
  bottomOpen,
  bottomTab,
  listScroll,
  resetWindow,
  systemRank,
} from "../model/timeline";
import { layoutInput, touchTree, tree, treeChanged, wantLanes } from "../model/tree";
import { registerUrl } from "../model/url_state";
import { Empty, Failed, Loading } from "../panels/empty";
import { Segments, Select } from "../panels/form";
import { DataTable, LocalTable } from "../panels/table";
import { jumpTo } from "../panels/table_actions";
import type { TableJump } from "../panels/table_options";
import { rankWord, t } from "../words";
import {
  detailOf,
  headlineOf,
  headlineWord,
  NAMED,
  NAMES,
  nested,
  pairsOf,
  ranksBeside,
  slowedRanks,
  slicesOf,
  slowest,
  stagesOf,
  stepsOf,
  type Named,
} from "./compare_model";
import { compare, comparing, part } from "./compare_state";
import { useReply, wholeTable } from "./data";
import { cluster } from "./job_state";
import { under } from "./pipeline_state";
import { readyRank } from "./ready_rank";

/** Above this many ranks it is worked out when asked for: it reads all of them. */
const MOST_UNASKED = 64;
const MOST_SLOWER = 10;
const MOST_PARTS = 18;
const MOST_NAMED = 6;

export function ComparePage() {
  const state = useAtom(comparing);
  const known = useAtom(session);
  const chosen = useAtom(baseline);
  const all = useAtom(ranks);
  const [wanted, setWanted] = useState(ranks.get().length <= MOST_UNASKED);
  useEffect(() => registerUrl(part), []);
  const captures = openCaptures(known);
  if (captures.length < 2) {
    return (
      <main class="page">
        <Empty title={t("compare.one")}>
          <pre class="code mono">pipescope serve NEW --baseline OLD</pre>
        </Empty>
      </main>
    );
  }
  const has = (i: number): boolean => captures.some(([number]) => number === i);
  const base = baselineOf(known, chosen) ?? captures[1][0];
  const now = has(state.now) ? state.now : captures.find(([i]) => i !== base)![0];
  const choices = captures.map(([i, path]) => [String(i), path] as const);
  const choose = (next: Sides): void => {
    compare({ now: next.now, name: "", detail: "" });
    chooseBaseline(next.base);
  };
  return (
    <main class="page">
      <div class="controls-row">
        <Select
          label={t("compare.new")}
          value={String(now)}
          options={choices}
          onChange={(i) => choose({ now: Number(i), base })}
        />
        <Select
          label={t("compare.base")}
          value={String(base)}
          options={choices}
          onChange={(i) => choose({ now, base: Number(i) })}
        />
        <button type="button" onClick={() => choose({ now: base, base: now })}>
          {t("compare.swap")}
        </button>
      </div>
      {now === base ? (
        <Empty title={t("compare.same")} />
      ) : !wanted ? (
        <div class="controls-row">
          <span>{t("whatif.many", all.length)}</span>
          <button type="button" onClick={() => setWanted(true)}>
            {t("findings.work-out")}
          </button>
        </div>
      ) : (
        <Compared now={now} base={base} />
      )}
    </main>
  );
}

interface Sides {
  now: number;
  base: number;
}

const TABLES = ["OverallCompare", "StepCompare", ...NAMES];

/** Every table with all its rows; those that the captures have not are left out. */
async function tablesOf({ now, base }: Sides, signal: AbortSignal): Promise<Map<string, Table>> {
  const params = { name: "compare", cluster: now, baseline: base };
  const first = await get<{ tables: Table[]; notes?: string[] }>("mode", params, signal);
  const out = new Map<string, Table>();
  for (const table of first.tables.filter((one) => TABLES.includes(one.name))) {
    const whole =
      table.rows.length < table.total
        ? await wholeTable("mode", { ...params, table: table.name }, table.name, signal)
        : table;
    out.set(table.name, whole ?? table);
  }
  return out;
}

function Compared(sides: Sides) {
  const reply = useReply(JSON.stringify(sides), (signal) => tablesOf(sides, signal));
  if (reply.error !== null) {
    return hasNothing(reply.error) ? (
      <Empty title={t("compare.nothing")}>
        <p class="quiet">{reply.error instanceof Error ? reply.error.message : ""}</p>
      </Empty>
    ) : (
      <Failed error={reply.error} retry={reply.retry} />
    );
  }
  if (reply.data === null || reply.isLoading) {
    return <Loading what={t("compare.working")} />;
  }
  return <Tables tables={reply.data} {...sides} />;
}

function Tables({ tables, now, base }: Sides & { tables: ReadonlyMap<string, Table> }) {
  const state = useAtom(comparing);
  const there = NAMES.filter((name) => (tables.get(name)?.rows.length ?? 0) > 0);
  const shown = there.includes(state.table) ? state.table : there[0];
  const steps = tables.get("StepCompare");
  const overall = useMemo(() => {
    const table = tables.get("OverallCompare");
    return table === undefined ? undefined : nested(table);
  }, [tables]);
  const ranked = useRanked({ now, base });
  return (
    <>
      <Head overall={overall ?? null} />
      <SlowedRanks beside={ranked} />
      <Pairs now={now} base={base} />
      <div class="columns-wide">
        {overall !== undefined && (
          <div class="card flush">
            <LocalTable table={overall} title={t("compare.overall")} maxRows={MOST_PARTS} />
          </div>
        )}
        <Slower tables={tables} />
      </div>
      {ranked !== null && (
        <div class="card flush">
          <LocalTable
            table={ranked}
            title={t("compare.ranks")}
            maxRows={8}
            onRow={(row) => compare({ rank: String(row.get("rank")) })}
            isMarked={(row) => String(row.get("rank")) === state.rank}
          />
        </div>
      )}
      {steps !== undefined && steps.rows.length > 1 && (
        <div class="card flush">
          <LocalTable table={steps} title={t("compare.steps")} maxRows={8} />
        </div>
      )}
      {shown !== undefined && (
        <>
          <div class="controls-row">
            <Segments
              label={t("compare.by")}
              value={shown}
              options={there.map((name) => [name, t(NAMED[name].word)] as const)}
              onChange={(table) => compare({ table, name: "", detail: "" })}
            />
          </div>
          <div class="card flush">
            <LocalTable
              table={tables.get(shown)!}
              title={t(NAMED[shown].word)}
              maxRows={12}
              sort={{ column: "lost", desc: true }}
              onRow={({ get }) =>
                compare({ name: String(get("name") ?? ""), detail: detailOf(get) })
              }
              isMarked={({ get }) => get("name") === state.name && detailOf(get) === state.detail}
            />
          </div>
          {state.name !== "" && (
            <Places
              key={`${shown} ${state.name} ${state.detail}`}
              table={shown}
              name={state.name}
              detail={state.detail}
              now={now}
              base={base}
              stages={stagesOf(ranked)}
            />
          )}
        </>
      )}
    </>
  );
}

/** The ranks of both captures beside one another; null: not known, or no rank is in both. */
function useRanked(sides: Sides): Table | null {
  const known = useAtom(ranks);
  const reply = useReply(JSON.stringify(sides), (signal) =>
    Promise.all(
      [sides.now, sides.base].map((cluster) =>
        wholeTable("view", { name: "overview", cluster }, null, signal),
      ),
    ),
  );
  return useMemo(() => {
    const [now, base] = reply.data ?? [null, null];
    const [a, b] = [sides.now, sides.base].map((cluster) => stepsOf(known, cluster));
    const joined = now === null || base === null ? null : ranksBeside(now, base, a, b);
    return joined === null || joined.rows.length === 0 ? null : joined;
  }, [reply.data, known, sides.now, sides.base]);
}

/** "A step takes 60.0 ms longer: 212 ms instead of 152 ms." */
function Head({ overall }: { overall: Table | null }) {
  const found = useMemo(() => headlineOf(overall), [overall]);
  if (found === null) {
    return null;
  }
  return (
    <p class="verdict">
      {t(
        headlineWord(found),
        duration(Math.abs(found.lost)),
        duration(found.now),
        duration(found.base),
        found.base > 0 ? percent(Math.abs(found.lost) / found.base) : "–",
      )}
    </p>
  );
}

/** Sums by name are means over ranks: ranks that slowed the others down stand here by themselves. */
function SlowedRanks({ beside }: { beside: Table | null }) {
  const found = useMemo(() => slowedRanks(beside), [beside]);
  if (found === null) {
    return null;
  }
  const names = found.ranks.slice(0, MOST_NAMED).map((rank) => t("where.rank", rank));
  const more = found.ranks.length - names.length;
  const named = [...names, ...(more > 0 ? [t("compare.more-ranks", more)] : [])].join(", ");
  return (
    <div class="controls-row">
      <span>
        {t(
          "compare.slowed-rank",
          found.stage === null ? named : `${named} (${t("where.stage", found.stage)})`,
          duration(found.lost),
          duration(found.others),
        )}
      </span>
      <button type="button" onClick={() => compare({ rank: String(found.ranks[0]) })}>
        {t("compare.choose-rank", found.ranks[0])}
      </button>
    </div>
  );
}

/** What lost most, a click away from both places. */
function Slower({ tables }: { tables: ReadonlyMap<string, Table> }) {
  const state = useAtom(comparing);
  const rows = useMemo(() => slowest(tables, MOST_SLOWER), [tables]);
  const table: Table = {
    name: "slower",
    title: "",
    total: rows.length,
    offset: 0,
    columns: [
      ["name", "text", "", false],
      ["lost", "int", "ns", false],
      ["new", "int", "ns", false],
      ["base", "int", "ns", false],
      ["row", "int", "", false],
    ],
    rows: rows.map((r, i) => [r.name, r.lost, r.now, r.base, i]),
  };
  return (
    <div class="card flush">
      <LocalTable
        table={table}
        title={t("compare.slower")}
        maxRows={MOST_SLOWER}
        bars={{ lost: "--exposed" }}
        isMarked={(row) => {
          const { table, name, detail } = rows[Number(row.get("row"))];
          return table === state.table && name === state.name && detail === state.detail;
        }}
        onRow={(row) => {
          const { table, name, detail } = rows[Number(row.get("row"))];
          compare({ table, name, detail });
        }}
        empty={<Empty title={t("compare.none-slower")} />}
      />
    </div>
  );
}

// --- both places ---------------------------------------------------------------------------------------------------------

interface PlacesProps extends Sides {
  table: Named;
  name: string;
  detail: string;
  stages: ReadonlyMap<number, number>;
}

function Places({ table, name, detail, now, base, stages }: PlacesProps) {
  const known = useAtom(ranks);
  const at = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState<Readonly<Record<string, Table>>>({});
  const asked = slicesOf(table, name, detail);
  // Which capture they are of stands over them.
  const rankText = (text: string): string => {
    const rank = known.find((r) => r.label === text || r.key === text)?.rank;
    const stage = rank === undefined ? undefined : stages.get(rank);
    const own = rank === undefined ? text : t("where.rank", rank);
    return stage === undefined ? own : `${own}, ${t("where.stage", stage)}`;
  };
  const halves = [now, base].map((cluster) => {
    const own = known.filter((r) => r.cluster === cluster);
    const ready = own.filter((r) => r.state === "ready").map((r) => r.key);
    return { cluster, own, ready: ready.join(",") };
  });
  // Numbers of both are read against one another: what came first of each says in which units.
  const [one, other] = halves.map(({ ready }) => first[ready]);
  const alike = useMemo(
    () => [one, other].filter((came): came is Table => came !== undefined),
    [one, other],
  );
  // Its height is known once rows are there.
  useEffect(() => at.current?.scrollIntoView({ block: "nearest" }), [alike]);
  if (asked === null) {
    return <p class="quiet">{t("compare.no-places", name)}</p>;
  }
  return (
    <div class="columns-wide" ref={at}>
      {halves.map(({ cluster, own, ready }) => (
        <div class="card flush" key={cluster}>
          <Unread own={own} />
          {ready !== "" && (
            <DataTable
              path="search/table"
              params={{ ...asked, ranks: ready }}
              alike={alike}
              jump={TO_SLICE}
              onTable={(came) => setFirst((all) => ({ [ready]: came, ...all }))}
              title={t(cluster === now ? "compare.places-new" : "compare.places-base", name)}
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

/** A slice is gone to from afar: it is shown in its whole length, with what is known of it. */
const TO_SLICE: TableJump = {
  isThere: true,
  can: (row) => row.get("slice") !== null,
  to: (row) => {
    bottomTab.set("detail");
    bottomOpen.set(true);
    void jumpTo(row, undefined, true);
  },
};

/** How many ranks of a capture are not looked at, and the way to read them. */
function Unread({ own }: { own: readonly Rank[] }) {
  const unread = own.filter((r) => r.state !== "ready");
  const waiting = unread.filter((r) => r.state === "waiting").map((r) => r.key);
  return unread.length === 0 ? null : (
    <p class="quiet card-note">
      {unread.length === own.length
        ? t("compare.not-read")
        : t("compare.partly-read", unread.length, own.length)}{" "}
      {waiting.length > 0 && (
        <button type="button" onClick={() => void load(waiting).catch(fail)}>
          {t("frame.load-all")}
        </button>
      )}
    </p>
  );
}

// --- rank beside rank ------------------------------------------------------------------------------------------------------

function Pairs({ now, base }: Sides) {
  const known = useAtom(ranks);
  const pairs = useMemo(() => pairsOf(known, now, base), [known, now, base]);
  const { rank } = useAtom(comparing);
  const chosen = pairs.find((p) => String(p.rank) === rank) ?? pairs[0];
  if (chosen === undefined) {
    return null;
  }
  return (
    <div class="controls-row">
      <Select
        label={t("compare.pair")}
        value={String(chosen.rank)}
        options={pairs.map((p) => [String(p.rank), `rank ${p.rank}`] as const)}
        onChange={(next) => compare({ rank: next })}
      />
      <button type="button" onClick={() => void beside(chosen.now, chosen.base).catch(fail)}>
        {t("compare.timelines")}
      </button>
      <button type="button" onClick={() => above(now, base)}>
        {t("compare.pipelines")}
      </button>
    </div>
  );
}

/** The pipelines of both on the Pipeline page, on one clock. */
function above(now: number, base: number): void {
  cluster.set(now);
  under.set(`beside:${base}`);
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
