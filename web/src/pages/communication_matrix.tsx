/** Who sends how much to whom, and how fast: a map of pairs, and their table. */
import { useMemo, useState } from "preact/hooks";
import type { Cell, Table } from "../api/types";
import { duration, significant } from "../base/time";
import { HeatMap, type HeatCell } from "../panels/chart";
import { Empty } from "../panels/empty";
import { LocalTable } from "../panels/table";
import { t } from "../words";
import { linksOf, pairsOf, type Choice, type Pair } from "./communication_model";
import type { Value } from "./communication_state";

const UNIT: Record<Value, string> = { bandwidth: "GB/s", size: "MB", time: "ms", transport: "" };
const ROW_PX = 24;

type PairCell = HeatCell & { pair: Pair };

const transportOf = (pair: Pair): string => pair.transport.join("+");
const keyOf = (source: unknown, destination: unknown): string =>
  `${String(source)} ${String(destination)}`;

interface MatrixProps {
  table: Table;
  choice: Choice;
  value: Value;
  inner: boolean;
}

export function Matrix({ table, choice, value, inner }: MatrixProps) {
  const links = useMemo(() => linksOf(table), [table]);
  const pairs = useMemo(
    () => pairsOf(links, choice, inner),
    [links, choice.step, choice.group, choice.op, inner],
  );
  const [marked, setMarked] = useState<string | null>(null);
  const names = [...new Set(pairs.flatMap((p) => [p.source, p.destination]))].sort((a, b) => a - b);
  if (pairs.length === 0) {
    return (
      <Empty title={t("comm.no-links")}>
        {!inner && links.some((l) => l.source === l.destination) && (
          <p class="quiet">{t("comm.only-inner")}</p>
        )}
      </Empty>
    );
  }
  const side = Math.max(220, Math.min(520, 48 + names.length * 36));
  return (
    <div class="columns-matrix">
      <section class="card" style={{ width: `${Math.max(420, side + 40)}px` }}>
        <PairMap
          pairs={pairs}
          names={names}
          value={value}
          marked={marked}
          mark={setMarked}
          side={side}
        />
      </section>
      <div class="card flush">
        <LocalTable
          table={pairTable(pairs)}
          title={t("comm.links")}
          urlKey="links"
          maxRows={Math.max(12, Math.floor(side / ROW_PX))}
          bars={{ bandwidth: "--communication" }}
          isMarked={(row) => marked === keyOf(row.get("source"), row.get("destination"))}
          onRow={(row) => setMarked(keyOf(row.get("source"), row.get("destination")))}
        />
      </div>
    </div>
  );
}

interface PairMapProps {
  pairs: Pair[];
  names: number[];
  value: Value;
  marked: string | null;
  mark: (key: string) => void;
  side: number;
}

function PairMap({ pairs, names, value, marked, mark, side }: PairMapProps) {
  const kinds = [...new Set(pairs.map(transportOf))].sort();
  const cells = useMemo(() => cellsOf(pairs, names, kinds, value), [pairs, value]);
  const keyOfCell = (cell: HeatCell): string => keyOf(names[cell.column], names[cell.row]);
  return (
    <HeatMap
      title={`${t("comm.matrix")} ${t(`comm.${value}`)}`}
      rows={names.map(String)}
      columns={names.map(String)}
      rowAxis={t("comm.to")}
      columnAxis={t("comm.from")}
      cells={cells}
      unit={UNIT[value]}
      text={(v) => (value === "transport" ? (kinds[v - 1] ?? "") : significant(v))}
      lines={(cell) => linesOf((cell as PairCell).pair)}
      isMarked={(cell) => marked === keyOfCell(cell)}
      onCell={(cell) => mark(keyOfCell(cell))}
      isLowStrong={value === "bandwidth"}
      height={side}
    />
  );
}

function cellsOf(pairs: Pair[], names: number[], kinds: string[], value: Value): PairCell[] {
  const place = new Map(names.map((rank, i) => [rank, i]));
  return pairs.map((pair) => ({
    row: place.get(pair.destination)!,
    column: place.get(pair.source)!,
    pair,
    value: value === "transport" ? kinds.indexOf(transportOf(pair)) + 1 : figure(pair, value),
  }));
}

const figure = (pair: Pair, value: Value): number =>
  value === "size" ? pair.size / 1e6 : value === "time" ? pair.time_ns / 1e6 : pair.bandwidth;

const linesOf = (p: Pair): [string, string][] => [
  [t("comm.bandwidth"), `${significant(p.bandwidth)} GB/s`],
  [t("comm.size"), `${significant(p.size / 1e6)} MB`],
  [t("comm.time"), duration(p.time_ns)],
  [t("comm.transport"), p.transport.join(" + ")],
  ...(p.example === "" ? [] : ([[t("comm.operator"), p.example]] as [string, string][])),
];

const pairTable = (pairs: Pair[]): Table => ({
  name: "links",
  title: "",
  total: pairs.length,
  offset: 0,
  columns: [
    ["source", "int", "", false],
    ["destination", "int", "", false],
    ["transport type", "text", "", false],
    ["transit size", "real", "bytes", false],
    ["transit time", "real", "ns", false],
    ["bandwidth", "real", "GB/s", false],
    ["operator", "text", "", false],
  ],
  rows: pairs.map((p): Cell[] => [
    p.source,
    p.destination,
    p.transport.join(" + "),
    p.size,
    p.time_ns,
    p.bandwidth,
    p.example === "" ? null : p.example,
  ]),
});
