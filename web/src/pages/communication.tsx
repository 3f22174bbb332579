/** The Communication page: who sends how much to whom and how fast, and how long the operators of each rank take. */
import { useEffect, useMemo } from "preact/hooks";
import { hasNothing } from "../api/client";
import type { Ref, Table } from "../api/types";
import { registerUrl } from "../model/url_state";
import { useAtom } from "../base/atom";
import { useBaseline } from "../model/baseline";
import { notify } from "../model/notices";
import { firstCapture } from "../model/captures";
import { ranks, session } from "../model/session";
import { findInCommunication, groupInCommunication } from "../model/timeline";
import { Empty, Failed, Loading } from "../panels/empty";
import { Check, Segments, Select } from "../panels/form";
import { LongSelect } from "../panels/long_select";
import { DataTable } from "../panels/table";
import { Thinned } from "../panels/thinned";
import { t, stepWord, commTypeWord } from "../words";
import { BaselinePicker } from "./beside_table";
import { Matrix } from "./communication_matrix";
import { modeColumns, type Columns } from "./columns";
import {
  choiceBeside,
  chosenType,
  groupOfRanks,
  groupsOf,
  lacking,
  namesHere,
  ofRanks,
  ofType,
  ranksWithout,
  TOTAL,
  type Beside,
  type Choice,
  type GroupName,
} from "./communication_model";
import { change, chooseView, isUnasked, part, state, VALUES, VIEWS } from "./communication_state";
import { Durations } from "./communication_times";
import { timesOf, typesOf, type Times } from "./communication_times_model";
import { Findings } from "./findings";
import { groupMapping, modeTable, useReply, type Reply } from "./data";

interface Loaded {
  main: Columns | null;
  /** Beside it: bandwidths, with durations; links of ranks that are not known, with the matrix. */
  more: Table | null;
}

const TABLES = {
  matrix: ["communication_matrix_sum", "ClusterCommunicationMatrix", "LinksOfUnknownRanks"],
  duration: ["communication_time_sum", "ClusterCommunicationTime", "ClusterCommunicationBandwidth"],
} as const;

async function tablesOf(
  view: keyof typeof TABLES,
  cluster: number,
  signal: AbortSignal,
): Promise<Loaded> {
  const [mode, main, more] = TABLES[view];
  return {
    main: await modeColumns(mode, main, { cluster }, signal),
    more: await modeTable(mode, more, { cluster }, signal),
  };
}

export function CommunicationPage() {
  const now = useAtom(state);
  const wanted = useAtom(findInCommunication);
  const own = firstCapture(useAtom(session));
  const known = useAtom(ranks).filter((r) => r.cluster === own);
  const marks = known.find((r) => r.comm_from_marks !== undefined)?.comm_from_marks;
  useEffect(() => registerUrl(part), []);
  useEffect(() => {
    if (wanted !== null) {
      change({ view: "duration", step: "", group: "", op: wanted.name });
    }
  }, [wanted]);
  const found = useTables();
  useGroupOf(found.mapping);
  const choices = useChoices(found);
  const base = useBeside(found, choices);
  useMissing(wanted, found.table, choices.ops);
  return (
    <main class="page">
      <Controls choices={choices} chooses={now.view !== "advice" && found.reply.error === null} />
      <Thinned ranks={known} />
      {marks !== undefined && <p class="quiet">{t(`comm.marks-${marks}`)}</p>}
      {now.view === "advice" ? (
        <Advice />
      ) : (
        <Answer found={found} choices={choices} base={base} wanted={wanted} />
      )}
    </main>
  );
}

/** The communicator that another page named by its ranks, once it is known which that is. */
function useGroupOf(mapping: Table | null): void {
  const members = useAtom(groupInCommunication);
  useEffect(() => {
    if (members === null || mapping === null) {
      return;
    }
    groupInCommunication.set(null);
    const group = groupOfRanks(mapping, members);
    change({ view: "duration", step: "", group: group ?? ofRanks(members), op: TOTAL });
  }, [members, mapping]);
}

/** Tables of the view that is shown. */
interface Found {
  reply: Reply<Loaded>;
  table: Columns | null;
  /** What the view of durations makes of it. */
  times: Times | null;
  mapping: Table | null;
  hasNoMatrix: boolean;
}

function useTables(): Found {
  const now = useAtom(state);
  const own = firstCapture(useAtom(session));
  const matrix = useReply(
    `matrix ${own}`,
    now.view === "matrix" ? (stop) => tablesOf("matrix", own, stop) : null,
  );
  const durations = useReply(
    `times ${own}`,
    now.view === "duration" ? (stop) => tablesOf("duration", own, stop) : null,
  );
  const mapping = useReply(`groups ${own}`, (signal) => groupMapping(own, signal)).data;
  const hasNoMatrix = now.view === "matrix" && hasNothing(matrix.error) && mapping !== null;
  useEffect(() => {
    if (hasNoMatrix && isUnasked()) {
      change({ view: "duration" });
    }
  }, [hasNoMatrix]);
  const reply = now.view === "matrix" ? matrix : durations;
  const table = reply.data?.main ?? null;
  const times = useMemo(
    () => (now.view === "duration" && table !== null ? timesOf(table) : null),
    [now.view, table],
  );
  return { reply, table, times, mapping, hasNoMatrix };
}

/** The baseline's tables of the view that is shown, and what of them is the same choice; null: nothing is compared. */
function useBeside(
  { table: own, mapping }: Found,
  { steps, groups, choice }: Choices,
): Beside | null {
  const { view } = useAtom(state);
  const base = useBaseline(firstCapture(useAtom(session)));
  const { data } = useReply(
    `${view} ${base}`,
    base === null || view === "advice"
      ? null
      : async (signal) => ({
          of: `${view} ${base}`,
          tables: await tablesOf(view, base, signal),
          mapping: await groupMapping(base, signal),
        }),
  );
  const isThere = data !== null && data.of === `${view} ${base}`;
  return useMemo(() => {
    const table = isThere ? data.tables.main : null;
    if (table === null || own === null) {
      return null;
    }
    const there = {
      table,
      steps: table.choices("step"),
      groups: groupsOf(data!.mapping, table.choices("group name")),
    };
    const same = choiceBeside(choice, { table: own, steps, groups }, there);
    return {
      table,
      more: data!.tables.more,
      choice: same,
      lacks: lacking(same, there),
      names: namesHere(groups, there.groups),
    };
  }, [data, isThere, own, mapping, choice.step, choice.group, choice.op]);
}

interface Choices {
  steps: string[];
  groups: GroupName[];
  ops: string[];
  /** What is chosen, as far as it is there. */
  choice: Choice;
}

function useChoices({ table, times, mapping }: Found): Choices {
  const now = useAtom(state);
  const groups = useMemo(
    () => groupsOf(mapping, table?.choices("group name") ?? []),
    [mapping, table],
  );
  const isThere = ranksWithout(now.group) !== null || groups.some((g) => g.name === now.group);
  const steps = useMemo(() => table?.choices("step") ?? [], [table]);
  const ops = useMemo(() => {
    const names = (table?.choices("hccl op name") ?? []).filter((o) => o !== TOTAL);
    // The operators of the matrix are types already.
    const types = times === null ? [] : [...typesOf(times)].sort();
    return [TOTAL, ...types.map(ofType), ...names];
  }, [table, times]);
  const choice = {
    step: steps.includes(now.step) ? now.step : "",
    group: isThere ? now.group : "",
    op: ops.includes(now.op) ? now.op : TOTAL,
  };
  return { steps, groups, ops, choice };
}

/** The timeline led here with an operator that no table has. */
function useMissing(wanted: Ref | null, table: Columns | null, ops: string[]): void {
  const now = useAtom(state);
  const isUnknown =
    wanted !== null &&
    now.view === "duration" &&
    now.op === wanted.name &&
    table !== null &&
    !ops.includes(wanted.name);
  useEffect(() => {
    if (isUnknown) {
      notify("warning", t("comm.not-found", wanted.name));
    }
  }, [isUnknown]);
}

function Controls({ choices, chooses }: { choices: Choices; chooses: boolean }) {
  const now = useAtom(state);
  const own = firstCapture(useAtom(session));
  const { steps, groups, ops, choice } = choices;
  const all = ["", t("comm.all")] as const;
  return (
    <div class="controls-row">
      <Segments
        label={t("comm.view")}
        value={now.view}
        options={VIEWS.map((v) => [v, t(`comm.${v}`)] as const)}
        onChange={chooseView}
      />
      {chooses && (
        <>
          <Select
            label={t("summary.step")}
            value={choice.step}
            options={[all, ...steps.map((s) => [s, s === "" ? "–" : stepWord(s)] as const)]}
            onChange={(step) => change({ step })}
          />
          <Select
            label={t("comm.group")}
            value={choice.group}
            options={[
              all,
              ...groups.map((g) => [g.name, g.text] as const),
              ...(ranksWithout(choice.group) !== null
                ? [[choice.group, choice.group] as const]
                : []),
            ]}
            onChange={(group) => change({ group })}
          />
          <LongSelect
            label={t("comm.operator")}
            value={choice.op}
            options={ops.map((o) => [o, opText(o)] as const)}
            {...(now.view === "matrix" ? { title: t("comm.link-samples") } : {})}
            onChange={(op) => change({ op })}
          />
        </>
      )}
      {chooses && now.view === "matrix" && <MatrixControls />}
      {now.view !== "advice" && <BaselinePicker now={own} />}
    </div>
  );
}

function opText(op: string): string {
  const type = chosenType(op);
  return op === TOTAL
    ? t("comm.total")
    : type !== null
      ? t("comm.all-of-type", commTypeWord(type))
      : op;
}

function MatrixControls() {
  const now = useAtom(state);
  const base = useBaseline(firstCapture(useAtom(session)));
  return (
    <>
      <Select
        label={t("comm.value")}
        value={now.value}
        options={VALUES.map((v) => [v, t(`comm.${v}`)] as const)}
        onChange={(value) => change({ value })}
      />
      <Check
        label={t("comm.inner")}
        checked={now.inner === "1"}
        onChange={(on) => change({ inner: on ? "1" : "" })}
      />
      {base !== null && now.value !== "transport" && (
        <Check
          label={t("comm.difference")}
          checked={now.plain !== "1"}
          onChange={(on) => change({ plain: on ? "" : "1" })}
        />
      )}
    </>
  );
}

interface AnswerProps {
  found: Found;
  choices: Choices;
  base: Beside | null;
  /** The operator that the timeline led here with. */
  wanted: Ref | null;
}

function Answer({ found, choices, base, wanted }: AnswerProps) {
  const now = useAtom(state);
  const { reply, table, times } = found;
  if (reply.error !== null) {
    return (
      <Failed error={reply.error} retry={reply.retry}>
        {found.hasNoMatrix && (
          <button type="button" onClick={() => change({ view: "duration" })}>
            {t("comm.to-durations")}
          </button>
        )}
      </Failed>
    );
  }
  if (reply.data === null) {
    return <Loading what={t("comm.working")} />;
  }
  if (table === null || (table.length === 0 && (reply.data.more?.rows.length ?? 0) === 0)) {
    return (
      <Empty title={t("comm.none")}>
        <p class="quiet">{t("comm.how")}</p>
      </Empty>
    );
  }
  const without = ranksWithout(choices.choice.group);
  if (without !== null) {
    return (
      <Empty title={t("where.no-communicator", without)}>
        <button type="button" onClick={() => change({ group: "" })}>
          {t("comm.all-groups")}
        </button>
      </Empty>
    );
  }
  return (
    <>
      {table.notes.map((note) => (
        <p class="quiet">{note}</p>
      ))}
      {(base?.lacks ?? []).map((what) => (
        <p class="quiet">{t(`comm.base-lacks-${what}`)}</p>
      ))}
      {now.view === "matrix" ? (
        <Matrix
          table={table}
          placed={reply.data.more}
          base={base}
          groups={choices.groups}
          choice={choices.choice}
          value={now.value}
          inner={now.inner === "1"}
          isPlain={now.plain === "1"}
        />
      ) : times === null ? null : (
        <Durations
          all={times}
          bandwidth={reply.data.more}
          base={base}
          choice={choices.choice}
          groups={choices.groups}
          wanted={wanted}
        />
      )}
    </>
  );
}

/** Findings, the links that are slower than their like, and who came late. */
function Advice() {
  return (
    <>
      <Findings view="communication_advice" title={t("comm.findings")} />
      <div class="card flush">
        <DataTable
          path="view"
          params={{ name: "communication_late" }}
          maxRows={10}
          urlKey="late"
          bars={{ "lateTime(us)": "--exposed", "waitTime(us)": "--exposed" }}
        />
      </div>
      <div class="card flush">
        <DataTable
          path="view"
          params={{ name: "communication_links" }}
          maxRows={8}
          urlKey="slow"
          empty={<Empty title={t("comm.no-slow-links")} />}
        />
      </div>
      <div class="card flush">
        <DataTable
          path="view"
          params={{ name: "communication_stats" }}
          maxRows={10}
          urlKey="stats"
          bars={{ SumNs: "--communication" }}
        />
      </div>
    </>
  );
}
