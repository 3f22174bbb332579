/** The call tree as the server gives it (docs/serve-api.md, /api/call_tree and the mode call_tree). */
import type { Params } from "../api/client";
import type { Cell, Rank, Table } from "../api/types";
import { duration } from "../base/time";
import type { By, CallNode, Time } from "../model/flame";
import { stepOf, type Scope } from "../model/calls";
import type { Box } from "../model/session";
import { callName } from "../panels/chart_flame";
import { lanesOf } from "../panels/slice_list";
import { rankWord, t } from "../words";
import { columnIndex, reader } from "./data";

/** What calls may be of, with the words for it: box and span are of one rank (null: all of them), the box of one whose lanes it crosses,
 * for of another it has no figures. */
export function scopesFor(
  rank: Rank | null,
  steps: NonNullable<Rank["steps"]>,
  span: Pick<Box, "from" | "to"> | null,
  framed: Box | null,
): [Scope, string][] {
  const scopes: [Scope, string][] = [["", t("calls.scope-all")]];
  if (rank !== null && span !== null) {
    scopes.push(["span", t("calls.scope-span", duration(span.to - span.from))]);
  }
  if (rank !== null && framed !== null && lanesOf(framed).has(rank.key)) {
    scopes.push(["box", t("calls.scope-box", duration(framed.to - framed.from))]);
  }
  return [
    ...scopes,
    ...steps.map(([id]): [Scope, string] => [`step ${id}`, t("calls.scope-step", id)]),
  ];
}

/** "the box in the timeline", within a sentence. */
export function scopeWord(scope: Scope): string {
  const step = stepOf(scope);
  return step !== null
    ? t("calls.scope-step", step)
    : t(scope === "box" ? "calls.a-box" : "calls.a-span");
}

/** Said where the choice is not one of those of the rank (null: of all ranks together). */
export const scopeElsewhere = (scope: Scope, rank: Rank | null): string =>
  t(
    "calls.scope-elsewhere",
    rank === null ? t("frame.all-ranks") : rankWord(rank.label),
    scopeWord(scope),
  );

/** In the order of the table: parents first. Empty: the table has nothing. */
export function callsOf(table: Table | null, by: By = "callers"): CallNode[] {
  if (table === null) {
    return [];
  }
  const of = (...names: string[]): ((row: Cell[]) => Cell) => reader(table, ...names);
  const number = (cell: Cell): number | null => (typeof cell === "number" ? cell : null);
  const [id, parent, level] = [of("node"), of("parent"), of("level")];
  const [name, kind, n] = [of("name"), of("kind"), of("number")];
  const [longest, slice] = [of("longest", "longestNs"), of("slice")];
  const [rank, start] = [of("longestRank"), of("longestStartNs")];
  const times = {
    host: [of("host total", "hostTotalNs"), of("host self", "hostSelfNs")],
    device: [of("device total", "deviceTotalNs"), of("device self", "deviceSelfNs")],
  };
  const places = new Map<number, number>();
  const out: CallNode[] = [];
  for (const row of table.rows) {
    const above = number(parent(row));
    const place = above === null ? -1 : (places.get(above) ?? -1);
    const both = (which: 0 | 1): Record<Time, number> => ({
      host: Number(times.host[which](row) ?? 0),
      device: Number(times.device[which](row) ?? 0),
    });
    places.set(Number(id(row)), out.length);
    out[place]?.children.push(out.length);
    out.push({
      id: Number(id(row)),
      parent: place,
      children: [],
      depth: Number(level(row)),
      name: String(name(row) ?? ""),
      kind: String(kind(row) ?? ""),
      total: both(0),
      self: by === "callees" && Number(level(row)) > 1 ? null : both(1),
      n: Number(n(row) ?? 0),
      longest: number(longest(row)),
      slice: number(slice(row)),
      rank: number(rank(row)),
      start: start(row) === null ? null : String(start(row)),
    });
  }
  return out;
}

/** Of the tree by module the place of each module by the names down to it, as the table ModuleTree writes them. */
export function modulePlaces(nodes: readonly CallNode[]): ReadonlyMap<string, number> {
  const paths = new Map<number, string>();
  const out = new Map<string, number>();
  nodes.forEach((node, place) => {
    if (node.kind === "module") {
      const above = paths.get(node.parent);
      const path = above === undefined ? node.name : `${above}/${node.name}`;
      paths.set(place, path);
      out.set(path, out.get(path) ?? place);
    }
  });
  return out;
}

/** In the order in which they are read; what is not here stands behind. */
const MODULE_COLUMNS = [
  "rankID",
  "parentModule",
  "module",
  "calls",
  "kernelTime",
  "mfu",
  "forwardTime",
  "backwardTime",
  "backwardPerForward",
  "recomputeTime",
  "exposedCommunication",
  "gaps",
  "shareOfSteps",
  "maxPerMeanOfRanks",
];

/** The rows of a rank of the table ModuleTree; null: of all. */
export function modulesOf(table: Table, rank: number | null): Table {
  const of = reader(table, "rankID");
  const rows = rank === null ? table.rows : table.rows.filter((row) => of(row) === rank);
  const places = table.columns.map((_, i) => i);
  const rankOf = (i: number): number => {
    const at = MODULE_COLUMNS.indexOf(table.columns[i][0]);
    return at < 0 ? MODULE_COLUMNS.length : at;
  };
  places.sort((a, b) => rankOf(a) - rankOf(b) || a - b);
  return {
    ...table,
    columns: places.map((i) => table.columns[i]),
    rows: rows.map((row) => places.map((i) => row[i])),
    total: rows.length,
  };
}

/** Of what lies below a node and has time of its own of that kind (that of devices kernels and the like have, not who launched them), the slice
 * that took longest: where a module, which has none of its own, is in the timeline. null: none. */
export function longestBelow(nodes: readonly CallNode[], place: number, time: Time): number | null {
  let best: number | null = null;
  const most = (at: number): number => nodes[at].longest ?? -1;
  const open = [...nodes[place].children];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const isOfTime = (nodes[at].self?.[time] ?? 0) > 0;
    if (nodes[at].slice !== null && isOfTime && (best === null || most(at) > most(best))) {
      best = at;
    }
    open.push(...nodes[at].children);
  }
  return best;
}

/** The names down to the module of a row. */
export function moduleRowPath(row: (column: string) => Cell): string {
  const above = String(row("parentModule") ?? "");
  const name = String(row("module") ?? "");
  return above === "" ? name : `${above}/${name}`;
}

/** What the table of modules is of, in words. */
export function modulesOfWhat(scope: Scope): string {
  const step = stepOf(scope);
  return step !== null
    ? t("calls.scope-step", step)
    : t(scope === "" ? "calls.scope-all" : scope === "box" ? "calls.modules-box" : "calls.a-span");
}

/** The same as the analysis takes it: a step, or the time since 1970 of the span that the tree is of, which counts from the rank's origin. */
export function modulesPart(scope: Scope, rank: Rank | null, tree: Params): Params {
  const step = stepOf(scope);
  if (step !== null) {
    return { step_id: step };
  }
  const at = (ns: Params[string]): string | undefined =>
    typeof ns === "number" && scope !== ""
      ? String(BigInt(rank?.origin_ns ?? "0") + BigInt(ns))
      : undefined;
  return { from_ns: at(tree.from), to_ns: at(tree.to) };
}

/** The rows with those first, below one caller, that take most of that time; what stands for all others stays last. */
export function orderedBy(table: Table, nodes: readonly CallNode[], time: Time): Table {
  const rows: Cell[][] = [];
  const order = (a: number, b: number): number =>
    Number(nodes[a].kind === "others") - Number(nodes[b].kind === "others") ||
    nodes[b].total[time] - nodes[a].total[time] ||
    a - b;
  const take = (place: number): void => {
    rows.push(table.rows[place]);
    [...nodes[place].children].sort(order).forEach(take);
  };
  nodes.forEach((node, place) => node.parent < 0 && take(place));
  return { ...table, rows };
}

/** As people read it: the names that the program made are said in the language of the page, what has no slices of its own
 * (all of them, a module, a pass) has no number of them, and beside the time that is looked at stands its share of all that is shown. */
export function spokenTable(table: Table, nodes: readonly CallNode[], time: Time): Table {
  const [name, n] = ["name", "number"].map((column) => columnIndex(table, column));
  const whole = nodes[0]?.total[time] ?? 0;
  const behind = 1 + columnIndex(table, `${time} total`, `${time}TotalNs`);
  const beside = <T>(all: readonly T[], one: T): T[] => [
    ...all.slice(0, behind),
    one,
    ...all.slice(behind),
  ];
  return {
    ...table,
    columns: beside(table.columns, ["share", "real", "%", false]),
    rows: table.rows.map((row, i) =>
      beside(
        row.map((cell, c) =>
          c === name ? callName(nodes[i]) : c === n && cell === 0 ? null : cell,
        ),
        whole > 0 ? (100 * nodes[i].total[time]) / whole : null,
      ),
    ),
  };
}
