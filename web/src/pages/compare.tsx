/** The page of two sides, each a capture or some of it: what a step lost and where, by name, with the way to both places; rank beside rank in the
 * timeline. The tables are those of `pipescope compare`. */
import { useEffect, useMemo } from "preact/hooks";
import { get, hasNothing } from "../api/client";
import type { Table } from "../api/types";
import { useAtom } from "../base/atom";
import { duration, durations } from "../base/time";
import { ranks } from "../model/session";
import { registerUrl } from "../model/url_state";
import { Empty, Failed, Loading } from "../panels/empty";
import { Segments } from "../panels/form";
import { LocalTable } from "../panels/table";
import { inBrackets, t } from "../words";
import {
  apartBy,
  baseDetailOf,
  detailOf,
  headlineOf,
  headlineWord,
  NAMED,
  NAMES,
  nested,
  notesOf,
  placesAt,
  ranksBeside,
  slowedRanks,
  slowest,
  stagesOf,
  stepsOf,
  timesText,
  whoseWord,
} from "./compare_model";
import { Pairs, Places } from "./compare_places";
import { SidePickers, useSides } from "./compare_pickers";
import {
  ALL,
  isOfSameRanks,
  isOneRank,
  isSame,
  MOST_UNASKED,
  paramsOf,
  ranksOf,
  type Sides,
} from "./compare_sides";
import { compare, compareRank, comparing, part } from "./compare_state";
import { useReply, wholeTable } from "./data";
import { ranksIn, useAsked } from "./ready_rank";

const MOST_SLOWER = 10;
const MOST_PARTS = 18;
const MOST_NAMED = 6;

export function ComparePage() {
  const all = useAtom(ranks);
  useEffect(() => registerUrl(part), []);
  const { sides, proposal, isKnown } = useSides();
  const { isAsked, unread, ask } = useAsked(
    MOST_UNASKED,
    all.filter((r) => [sides.now, sides.base].some((side) => ranksOf([r], side).length > 0)),
  );
  return (
    <main class="page">
      <SidePickers sides={sides} proposal={proposal} />
      {!isKnown ? (
        <Loading what={t("frame.loading")} />
      ) : isSame(sides) ? (
        <Empty title={t("compare.same")}>
          <p class="quiet">{t("compare.same-how")}</p>
        </Empty>
      ) : !isAsked ? (
        <div class="controls-row">
          <span>{t("whatif.many", unread)}</span>
          <button type="button" onClick={ask}>
            {t("compare.work-out")}
          </button>
        </div>
      ) : (
        <Compared {...sides} />
      )}
    </main>
  );
}

const TABLES = ["OverallCompare", "StepCompare", "StageCompare", "CompareNotes", ...NAMES];

/** Every table with all its rows; those that the captures have not are left out. */
async function tablesOf(sides: Sides, signal: AbortSignal): Promise<Map<string, Table>> {
  const params = paramsOf(sides);
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
  return <Tables tables={reply.data} sides={sides} />;
}

interface TablesProps {
  tables: ReadonlyMap<string, Table>;
  sides: Sides;
}

function Tables({ tables, sides }: TablesProps) {
  const state = useAtom(comparing);
  const there = NAMES.filter((name) => (tables.get(name)?.rows.length ?? 0) > 0);
  const shown = there.includes(state.table) ? state.table : there[0];
  const steps = tables.get("StepCompare");
  const overall = useMemo(() => {
    const table = tables.get("OverallCompare");
    return table === undefined ? undefined : nested(table);
  }, [tables]);
  const stages = tables.get("StageCompare");
  const { ranked, stageOf } = useRanked(sides);
  const { word, args } = whoseWord(sides);
  const whose = t(word, ...args);
  const isMixed = isOneRank(sides.now) !== isOneRank(sides.base);
  return (
    <>
      <Head overall={overall ?? null} />
      {notesOf(tables.get("CompareNotes")).map((note) => (
        <p key={note}>{note}</p>
      ))}
      {isMixed && <p>{t("compare.mixed", whose)}</p>}
      {!isOneRank(sides.now) && <SlowedRanks beside={ranked} />}
      <Pairs {...sides} />
      <div class="columns-wide">
        {overall !== undefined && (
          <div class="card flush">
            <LocalTable table={overall} title={t("compare.overall")} maxRows={MOST_PARTS} />
          </div>
        )}
        <Slower tables={tables} whose={whose} />
      </div>
      <div class="columns-when-wide">
        {stages !== undefined && stages.rows.length > 1 && (
          <div class="card flush">
            <LocalTable table={stages} title={t("compare.stages")} maxRows={8} />
          </div>
        )}
        {ranked !== null && (
          <div class="card flush">
            <LocalTable
              table={ranked}
              title={t("compare.ranks")}
              maxRows={8}
              onRow={(row) => compareRank(String(row.get("rank")))}
              isMarked={(row) => isOneRank(sides.now) && String(row.get("rank")) === sides.now.rank}
            />
          </div>
        )}
        {steps !== undefined && steps.rows.length > 1 && (
          <div class="card flush">
            <LocalTable table={steps} title={t("compare.steps")} maxRows={8} />
          </div>
        )}
      </div>
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
              title={`${t(NAMED[shown].word)} \u00b7 ${whose}`}
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
              details={[state.detail, baseDetailOf(tables.get(shown)!, state.name, state.detail)]}
              sides={sides}
              stages={stageOf}
              of={placesAt(state.rank, stages, stageOf)}
            />
          )}
        </>
      )}
    </>
  );
}

/** The ranks of both sides beside one another where all of them are compared, or the same one of both (null: not known, or no rank is in
 * both), and the stage of each. */
function useRanked(sides: Sides): { ranked: Table | null; stageOf: ReadonlyMap<number, number> } {
  const known = useAtom(ranks);
  const all = [sides.now, sides.base].map((side) => ({ ...side, rank: ALL }));
  const ask = (signal: AbortSignal): Promise<(Table | null)[]> =>
    Promise.all(
      all.map(({ cluster, step }) =>
        wholeTable(
          "view",
          { name: "overview", cluster, step: step === "" ? ALL : step },
          null,
          signal,
        ),
      ),
    );
  const isFew = all.every(({ cluster }) => ranksIn(known, cluster).length <= MOST_UNASKED);
  const key = JSON.stringify(all);
  const reply = useReply(key, isOfSameRanks(sides) || isFew ? ask : null);
  return useMemo(() => {
    const [now, base] = reply.data ?? [null, null];
    const [a, b] = all.map((side) => stepsOf(known, side));
    const joined = now === null || base === null ? null : ranksBeside(now, base, a, b);
    const isThere = isOfSameRanks(sides) && joined !== null && joined.rows.length > 0;
    return { ranked: isThere ? joined : null, stageOf: stagesOf(now) };
  }, [reply.data, known, key, isOfSameRanks(sides)]);
}

/** "A step takes 60.0 ms longer: 212 ms instead of 152 ms." */
function Head({ overall }: { overall: Table | null }) {
  const found = useMemo(() => headlineOf(overall), [overall]);
  if (found === null) {
    return null;
  }
  const [now, base] = durations(found.now, found.base) ?? [duration(found.now), ""];
  return (
    <p class="verdict">
      {t(headlineWord(found), duration(Math.abs(found.lost)), now, base, timesText(found))}
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
          found.stage === null ? named : named + inBrackets(t("where.stage", found.stage)),
          duration(found.lost),
          t(found.isOneOther ? "compare.the-other" : "compare.the-others"),
          found.others === 0
            ? t("compare.lost-nothing")
            : t(
                found.others > 0 ? "compare.lost" : "compare.gained",
                duration(Math.abs(found.others)),
              ),
        )}
      </span>
      <button type="button" onClick={() => compareRank(String(found.ranks[0]))}>
        {t("compare.choose-rank", found.ranks[0])}
      </button>
    </div>
  );
}

/** What lost most, a click away from both places. */
function Slower({ tables, whose }: { tables: ReadonlyMap<string, Table>; whose: string }) {
  const state = useAtom(comparing);
  const rows = useMemo(() => slowest(tables, MOST_SLOWER), [tables]);
  const details = useMemo(() => apartBy(rows), [rows]);
  const hasDetails = details.some((detail) => detail !== "");
  const withDetails = <T,>(cells: T[]): T[] => cells.filter((_, i) => i !== 1 || hasDetails);
  const table: Table = {
    name: "slower",
    title: "",
    total: rows.length,
    offset: 0,
    columns: withDetails([
      ["name", "text", "", false],
      ["shapes or group", "text", "", false],
      ["lost", "int", "ns", false],
      ["new", "int", "ns", false],
      ["base", "int", "ns", false],
      ["new / base", "real", "", false],
      ["new / base a call", "real", "", false],
      ["row", "int", "", false],
    ]),
    rows: rows.map((r, i) =>
      withDetails([
        r.name,
        details[i],
        r.lost,
        r.now,
        r.base,
        r.base > 0 ? r.now / r.base : null,
        r.aCall,
        i,
      ]),
    ),
  };
  return (
    <div class="card flush">
      <LocalTable
        table={table}
        title={`${t("compare.slower")} \u00b7 ${whose}`}
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
