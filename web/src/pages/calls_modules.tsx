/** What is known of modules beside their place in the tree: forward and backward apart, gaps, share of the peak. */
import { useMemo } from "preact/hooks";
import type { Params } from "../api/client";
import type { Rank, Table } from "../api/types";
import type { Scope } from "../model/calls";
import type { CallNode } from "../model/flame";
import { LocalTable } from "../panels/table";
import { t } from "../words";
import { modulePlaces, moduleRowPath, modulesOf, modulesOfWhat, modulesPart } from "./calls_model";
import { modeTable, useReply } from "./data";

export interface ModulesProps {
  /** null: all of them. */
  rank: Rank | null;
  cluster: number;
  scope: Scope;
  /** What the tree above is of. */
  tree: Params;
  nodes: readonly CallNode[];
  chosen: number;
  choose: (node: number) => void;
}

/** Until somebody asks for them (the columns of the table). */
const HIDDEN = [
  "depth",
  "recomputedCalls",
  "backwardCalls",
  "ownKernelTime",
  "hostTime",
  "busyTime",
  "slowestCall",
  "slowestStep",
];

/** The table ModuleTree (docs/modes/module_statistic.md): a row and its box in the flame graph are chosen together. */
export function Modules({ rank, cluster, scope, tree, nodes, chosen, choose }: ModulesProps) {
  const params = { cluster, ...modulesPart(scope, rank, tree) };
  const reply = useReply<Table | null>(JSON.stringify(params), (signal) =>
    modeTable("module_statistic", "ModuleTree", params, signal),
  );
  const table = useMemo(
    () => (reply.data === null ? null : modulesOf(reply.data, rank?.rank ?? null)),
    [reply.data, rank?.rank],
  );
  const places = useMemo(() => modulePlaces(nodes), [nodes]);
  if (table === null || table.rows.length === 0) {
    return null;
  }
  return (
    <div class="card flush">
      <LocalTable
        table={table}
        title={t("calls.modules", modulesOfWhat(scope))}
        name="modules"
        urlKey="modules"
        maxRows={14}
        hidden={rank === null ? HIDDEN : [...HIDDEN, "rankID"]}
        bars={{ kernelTime: "--computing", mfu: "--computing" }}
        isMarked={(row) => places.get(moduleRowPath((c) => row.get(c))) === chosen}
        onRow={(row) => {
          const place = places.get(moduleRowPath((c) => row.get(c)));
          if (place !== undefined) {
            choose(place);
          }
        }}
      />
    </div>
  );
}
