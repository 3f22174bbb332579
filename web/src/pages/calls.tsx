/** The page of calls: the call tree of a rank, a step, a span, a box or of all ranks, as a flame graph and as a table; what is chosen leads to
 * its slices in the timeline. */
import { useEffect, useMemo } from "preact/hooks";
import { get, hasNothing, type Params } from "../api/client";
import type { Rank, Ref, Table } from "../api/types";
import { useAtom } from "../base/atom";
import { grouped } from "../base/format";
import { duration, percent } from "../base/time";
import { register } from "../model/commands";
import {
  BYS,
  focusFor,
  foundIn,
  TIMES,
  timeFound,
  timeOf,
  type CallNode,
  type Time,
} from "../model/flame";
import { fail } from "../model/notices";
import { nameOf } from "../model/captures";
import { analysisSpan, box, ranks, session, show, tab } from "../model/session";
import { registerUrl } from "../model/url_state";
import { callName, FlameGraph } from "../panels/chart_flame";
import { Empty, Failed, Loading } from "../panels/empty";
import { Segments, Select, useRank } from "../panels/form";
import { askOf, lanesOf } from "../panels/slice_list";
import { spanParams } from "../panels/system";
import { DataTable, LocalTable } from "../panels/table";
import { language, rankWord, t } from "../words";
import {
  callsOf,
  longestBelow,
  scopeElsewhere,
  scopesFor,
  scopeWord,
  orderedBy,
  spokenTable,
} from "./calls_model";
import { Modules } from "./calls_modules";
import { calls, lookAt, part, stepOf, type CallsState, type Scope } from "../model/calls";
import { useReply, wholeTable } from "./data";
import { RankGate } from "../panels/rank_gate";
import { Thinned } from "../panels/thinned";
import { readyRank } from "./ready_rank";

const ALL = "all";
const MODE_TABLES = {
  callers: "CallTree",
  callees: "CallTreeCallees",
  modules: "CallTreeModules",
} as const;

const toSearch = (): void =>
  document.querySelector<HTMLInputElement>("#page-calls input[type=search]")?.focus();

export function CallsPage() {
  const state = useAtom(calls);
  const known = useAtom(ranks);
  const isAll = state.rank === ALL && known.length > 1;
  const rank = useRank(isAll ? "" : state.rank);
  useEffect(() => registerUrl(part), []);
  useEffect(
    () => register([{ id: "calls.find", word: "calls.find", keys: ["/"], run: toSearch }]),
    [],
  );
  return (
    <main class="page">
      <Controls state={state} rank={rank} isAll={isAll} />
      {isAll ? (
        <Tree state={state} rank={null} cluster={known[0]?.cluster ?? 0} />
      ) : (
        <RankGate rank={rank}>
          {rank !== null && <Thinned ranks={[rank]} />}
          {rank !== null && <Tree state={state} rank={rank} cluster={rank.cluster} />}
        </RankGate>
      )}
    </main>
  );
}

// --- what is looked at ------------------------------------------------------------------------------------------------

interface Of {
  state: CallsState;
  /** null: all of them. */
  rank: Rank | null;
}

/** What may be chosen, and what of the choice there is for the rank: menu and figures keep to this one answer. */
function useScope(state: CallsState, rank: Rank | null): [Scope, [Scope, string][]] {
  const known = useAtom(ranks);
  const steps = rank?.steps ?? known.find((r) => r.steps !== undefined)?.steps ?? [];
  const scopes = scopesFor(rank, steps, useAtom(analysisSpan), useAtom(box));
  return [scopes.find(([scope]) => scope === state.scope)?.[0] ?? "", scopes];
}

function Controls({ state, rank, isAll }: Of & { isAll: boolean }) {
  const known = useAtom(ranks);
  const [scope, scopes] = useScope(state, rank);
  const isElsewhere = scope !== state.scope && (isAll || rank?.state === "ready");
  return (
    <>
      <div class="controls-row">
        <Select
          label={t("form.rank")}
          value={isAll ? ALL : (rank?.key ?? "")}
          options={[
            ...(known.length > 1 ? [[ALL, t("frame.all-ranks")] as const] : []),
            ...known.map((r) => [r.key, rankWord(r.label)] as const),
          ]}
          onChange={(next) => lookAt({ rank: next })}
        />
        <Select
          label={t("calls.of")}
          value={scope}
          options={scopes}
          onChange={(next) => lookAt({ scope: next })}
        />
        <Segments
          label={t("calls.by")}
          value={state.by}
          options={BYS.map((by) => [by, t(`calls.by-${by}`)] as const)}
          onChange={(by) => lookAt({ by })}
        />
      </div>
      {isElsewhere && (
        <p class="quiet" role="status">
          {scopeElsewhere(state.scope, isAll ? null : rank)}
        </p>
      )}
    </>
  );
}

/** What to ask the server: the route, its parameters, and the table of several. */
function questionOf(
  by: CallsState["by"],
  scope: Scope,
  rank: Rank | null,
  cluster: number,
): [string, Params] {
  const step = stepOf(scope);
  const only = step === null ? {} : { step_id: step };
  if (rank === null) {
    return ["mode", { name: "call_tree", table: MODE_TABLES[by], cluster, ...only }];
  }
  const params: Params = { rank: rank.key, by };
  const span = analysisSpan.get();
  const framed = box.get();
  if (scope === "span") {
    return ["call_tree", { ...params, ...spanParams(span, rank) }];
  }
  return scope === "box" && framed !== null
    ? ["call_tree", { ...params, ...askOf(framed, rank, lanesOf(framed).get(rank.key) ?? []) }]
    : ["call_tree", { ...params, ...only }];
}

// --- the tree ----------------------------------------------------------------------------------------------------------

function Tree({ state, rank, cluster }: Of & { cluster: number }) {
  const [scope] = useScope(state, rank);
  const [path, params] = questionOf(state.by, scope, rank, cluster);
  const reply = useReply(JSON.stringify([path, params]), async (signal) => ({
    // null: of all ranks there is no tree of this kind
    table: await wholeTable(
      path,
      params,
      typeof params.table === "string" ? params.table : null,
      signal,
    ),
  }));
  const table = reply.data?.table ?? null;
  const nodes = useMemo(() => callsOf(table, state.by), [table, state.by]);
  if (reply.error !== null) {
    return hasNothing(reply.error) ? (
      <Empty title={t("calls.nothing")}>
        <p class="quiet">{whyNothing(reply.error, scope)}</p>
      </Empty>
    ) : (
      <Failed error={reply.error} retry={reply.retry} />
    );
  }
  if (reply.data === null || reply.isLoading) {
    return <Loading />;
  }
  return table === null || nodes.length === 0 ? (
    <Empty title={t("calls.nothing")}>
      {state.by === "modules" && <p class="quiet">{t("calls.no-modules")}</p>}
    </Empty>
  ) : (
    <Pictured
      state={state}
      scope={scope}
      rank={rank}
      cluster={cluster}
      nodes={nodes}
      table={table}
      params={params}
    />
  );
}

/** Of a part of the recording that has nothing: that, and not how to record what is recorded. */
function whyNothing(error: unknown, scope: Scope): string {
  return scope !== ""
    ? t("calls.nothing-in", scopeWord(scope))
    : error instanceof Error
      ? error.message
      : "";
}

interface Pictured extends Of {
  /** What the figures are of. */
  scope: Scope;
  cluster: number;
  nodes: CallNode[];
  table: Table;
  params: Params;
}

/** Of a node of the server the place in the list; the root where there is none. */
const placeOf = (nodes: readonly CallNode[], id: number): number =>
  Math.max(
    0,
    nodes.findIndex((n) => n.id === id),
  );

function Pictured({ state, scope, rank, cluster, nodes, table, params }: Pictured) {
  const time = timeOf(nodes, state.time);
  const found = useMemo(() => foundIn(nodes, state.find), [nodes, state.find]);
  const focus = placeOf(nodes, state.focus);
  const chosen = placeOf(nodes, state.chosen);
  const shown = useMemo(
    () => orderedBy(spokenTable(table, nodes, time), nodes, time),
    [table, nodes, time, language.get()],
  );
  const choose = (node: number): void => lookAt({ chosen: nodes[node].id });
  /** From beside the picture: it goes to where the node is seen. */
  const goTo = (node: number): void =>
    lookAt({ chosen: nodes[node].id, focus: nodes[focusFor(nodes, focus, node, time)].id });
  return (
    <>
      <div class="controls-row">
        <Segments
          label={t("calls.time")}
          value={time}
          options={TIMES.map((one) => [one, t(`calls.time-${one}`)] as const)}
          onChange={(next) => lookAt({ time: next })}
        />
        <Search
          nodes={nodes}
          time={time}
          found={found}
          chosen={chosen}
          find={state.find}
          goTo={goTo}
        />
        <button type="button" disabled={focus === 0} onClick={() => lookAt({ focus: 0 })}>
          {t("calls.whole")}
        </button>
      </div>
      <section class="card">
        {nodes[0].total[time] > 0 ? (
          <FlameGraph
            title={t("calls.title", t(`calls.by-${state.by}`), t(`calls.time-${time}`))}
            of={whatOf(state, scope, rank, cluster)}
            nodes={nodes}
            time={time}
            focus={focus}
            chosen={chosen}
            found={found}
            onChoose={choose}
            onFocus={(node) => lookAt({ focus: nodes[node].id, chosen: nodes[node].id })}
          />
        ) : (
          <Empty title={t("calls.no-time")} />
        )}
      </section>
      <Chosen node={nodes[chosen]} nodes={nodes} time={time} rank={rank} params={params} />
      {state.by === "modules" && (
        <Modules
          rank={rank}
          cluster={cluster}
          scope={scope}
          tree={params}
          nodes={nodes}
          chosen={chosen}
          choose={goTo}
        />
      )}
      <div class="card flush grows">
        <LocalTable
          table={shown}
          title={t("calls.table")}
          name={`calls ${state.by}`}
          hidden={["node", "parent", "slice", "longestStartNs"]}
          tree={{
            heaviest: [`${time} total`, `${time}TotalNs`],
            key: "node",
            chosen: nodes[chosen].id,
          }}
          isMarked={(row) => row.get("node") === nodes[chosen].id}
          onRow={(row) => goTo(placeOf(nodes, Number(row.get("node"))))}
          bars={{ "device total": "--computing", deviceTotalNs: "--computing" }}
        />
      </div>
    </>
  );
}

/** Capture, rank, step: what a picture says of itself where it travels alone. */
function whatOf(state: CallsState, scope: Scope, rank: Rank | null, cluster: number): string[] {
  const step = stepOf(scope);
  return [
    nameOf(session.get()?.clusters[cluster]?.path ?? ""),
    rank === null ? t("frame.all-ranks") : rankWord(rank.label),
    step !== null
      ? t("calls.scope-step", step)
      : scope === ""
        ? t("calls.scope-all")
        : scopeWord(scope),
    t(`calls.by-${state.by}`),
  ].filter((part) => part !== "");
}

interface Found {
  nodes: readonly CallNode[];
  time: Time;
  found: ReadonlySet<number>;
  chosen: number;
  find: string;
  goTo: (node: number) => void;
}

/** Enter goes to the next one, Shift+Enter to the one before. */
function Search({ nodes, time, found, chosen, find, goTo }: Found) {
  const go = (by: 1 | -1): void => {
    const all = [...found].filter((n) => nodes[n].total[time] > 0);
    const after = by > 0 ? all.find((n) => n > chosen) : all.reverse().find((n) => n < chosen);
    const next = after ?? all[0];
    if (next !== undefined) {
      goTo(next);
    }
  };
  const whole = nodes[0].total[time];
  return (
    <>
      <input
        type="search"
        aria-label={t("calls.find")}
        placeholder={t("calls.find")}
        value={find}
        onInput={(e) => lookAt({ find: e.currentTarget.value })}
        onKeyDown={(e) => {
          if (e.key === "Enter") {
            e.preventDefault();
            go(e.shiftKey ? -1 : 1);
          }
        }}
      />
      {find.trim() !== "" && (
        <span class="quiet" role="status">
          {t(
            "calls.found",
            found.size,
            whole > 0 ? `${percent(timeFound(nodes, found, time) / whole)} %` : "–",
          )}
        </span>
      )}
    </>
  );
}

// --- what is chosen ----------------------------------------------------------------------------------------------------

function Chosen({
  node,
  nodes,
  time,
  rank,
  params,
}: {
  node: CallNode;
  nodes: readonly CallNode[];
  time: Time;
  rank: Rank | null;
  params: Params;
}) {
  const whole = nodes[0].total;
  const both = (ns: number, of: number): string =>
    of > 0 ? `${duration(ns)}, ${percent(ns / of)} %` : "–";
  return (
    <section class="card">
      <h3 class="mono break">{callName(node)}</h3>
      <dl class="facts">
        {TIMES.filter((time) => whole[time] > 0).map((time) => (
          <>
            <Fact name={t(`calls.total-${time}`)} value={both(node.total[time], whole[time])} />
            {node.self !== null && (
              <Fact name={t(`calls.self-${time}`)} value={both(node.self[time], whole[time])} />
            )}
          </>
        ))}
        {node.n > 0 && <Fact name={t("calls.number")} value={grouped(String(node.n))} />}
        {node.longest !== null && <Fact name={t("calls.longest")} value={duration(node.longest)} />}
      </dl>
      {node.n > 0 && rank !== null && node.kind !== "others" && (
        <DataTable
          path="call_tree"
          params={{ ...params, node: node.id }}
          title={t("calls.slices")}
          rank={rank.key}
          maxRows={6}
          sort={{ column: "duration", desc: true }}
        />
      )}
      {node.n === 0 && rank !== null && (
        <LongestBelow rank={rank} node={node} nodes={nodes} time={time} />
      )}
      {node.longest !== null && rank === null && (
        <p>
          <button type="button" onClick={() => void toLongest(node).catch(fail)}>
            {t("calls.show-longest", node.rank ?? "?")}
          </button>
        </p>
      )}
    </section>
  );
}

/** Modules and their passes have no slices of their own; what runs in them has. */
function LongestBelow({
  rank,
  node,
  nodes,
  time,
}: {
  rank: Rank;
  node: CallNode;
  nodes: readonly CallNode[];
  time: Time;
}) {
  const below = longestBelow(nodes, nodes.indexOf(node), time);
  return below === null ? null : (
    <p>
      <button
        type="button"
        onClick={() =>
          void get<Ref>("slice", { rank: rank.key, slice: nodes[below].slice! }).then(show, fail)
        }
      >
        {t("calls.show-below", callName(nodes[below]))}
      </button>
    </p>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Of all ranks the longest slice, in the timeline of its rank. */
async function toLongest(node: CallNode): Promise<void> {
  const of = ranks.get().find((r) => r.rank === node.rank);
  if (of === undefined || node.start === null || node.longest === null) {
    return;
  }
  const rank = await readyRank(of.key);
  const start = Number(BigInt(node.start) - BigInt(rank.origin_ns ?? "0"));
  const { ref } = await get<{ ref: Ref | null }>("slice_at", {
    rank: rank.key,
    start,
    end: start + node.longest,
  });
  if (ref !== null) {
    show(ref);
    tab.set("timeline");
  }
}
