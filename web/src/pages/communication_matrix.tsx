/** Who sends how much to whom, and how fast: a map of pairs, and their table. */
import { useMemo, useState } from "preact/hooks";
import type { Cell, Table } from "../api/types";
import { duration, signedText, significant } from "../base/time";
import { HeatMap, type HeatCell } from "../panels/chart";
import { Empty } from "../panels/empty";
import { LocalTable } from "../panels/table";
import type { TableOptions } from "../panels/table_options";
import { t } from "../words";
import { useAtom } from "../base/atom";
import { ranks } from "../model/session";
import { beside, type Pairing } from "./beside";
import { BesideLocal } from "./beside_table";
import { Columns } from "./columns";
import {
  compareEnds,
  linksOf,
  pairChanges,
  pairsOf,
  strangerOf,
  strangersOf,
  type Beside,
  type Choice,
  type End,
  type GroupName,
  type Pair,
  type PairChange,
  type Stranger,
} from "./communication_model";
import { change, state, type Value } from "./communication_state";

const UNIT: Record<Value, string> = { bandwidth: "GB/s", size: "MB", time: "ms", transport: "" };
const ROW_PX = 24;

/** Its sides only where differences are shown. */
type PairCell = HeatCell & { pair: Pair; sides?: PairChange };

const transportOf = (pair: Pair): string => pair.transport.join("+");
const keyOf = (source: unknown, destination: unknown): string =>
  `${String(source)} ${String(destination)}`;

/** "3", "3, not read" of a rank whose profile is not here, "place 7, in one communicator with (0,1): rank not read" where nobody says which
 * rank it is, nor how many there are. */
type NameOf = (end: End) => string;

function namesFor(
  here: ReadonlySet<number>,
  groups: GroupName[],
  strangers: readonly Stranger[],
): NameOf {
  return (end) => {
    const stranger = strangerOf(strangers, end);
    return stranger !== undefined
      ? t(
          "comm.stranger",
          stranger.place,
          groups.find((g) => g.name === stranger.group)?.text ?? stranger.group,
        )
      : here.has(end)
        ? String(end)
        : t("comm.unread", end);
  };
}

/** With a question mark where nobody read it: the note and the tip say more. */
const shortName = (end: End, here: ReadonlySet<number>, strangers: readonly Stranger[]): string =>
  end < 0
    ? t("comm.stranger-short", strangerOf(strangers, end)!.place)
    : here.has(end)
      ? String(end)
      : `${end} ?`;

const columnsOrNull = (table: Table | null): Columns | null =>
  table === null ? null : Columns.of(table);

interface MatrixProps {
  table: Columns;
  /** Links with an end whose rank is not known. */
  placed: Table | null;
  base: Beside | null;
  groups: GroupName[];
  choice: Choice;
  value: Value;
  inner: boolean;
  isPlain: boolean;
}

export function Matrix(p: MatrixProps) {
  const { table, placed, base, groups, choice, value, inner } = p;
  const known = useAtom(ranks);
  const { links, strangers, baseLinks } = useMemo(() => {
    const own = { main: table, placed: columnsOrNull(placed) };
    const there =
      base === null
        ? null
        : { main: base.table, placed: columnsOrNull(base.more), names: base.names };
    const found = strangersOf(own, ...(there === null ? [] : [there]));
    return {
      links: linksOf(own, found),
      strangers: found,
      baseLinks: there === null ? null : linksOf(there, found),
    };
  }, [table, placed, base]);
  const here = useMemo(() => new Set(known.map((r) => r.rank)), [known]);
  const nameOf = useMemo(() => namesFor(here, groups, strangers), [here, groups, strangers]);
  const pairs = useMemo(
    () => pairsOf(links, choice, inner),
    [links, choice.step, choice.group, choice.op, inner],
  );
  const [marked, setMarked] = useState<string | null>(null);
  const basePairs = useMemo(
    () =>
      baseLinks === null
        ? null
        : pairsOf(baseLinks, { ...base!.choice, group: choice.group }, inner),
    [baseLinks, base, choice.group, inner],
  );
  const isDifference = basePairs !== null && !p.isPlain && value !== "transport";
  const changes = useMemo(
    () => (isDifference ? pairChanges(pairs, basePairs) : null),
    [pairs, basePairs, isDifference],
  );
  const shown = useMemo(() => changes?.map((c) => c.pair) ?? pairs, [changes, pairs]);
  const names = useMemo(
    () => [...new Set(shown.flatMap((l) => [l.source, l.destination]))].sort(compareEnds),
    [shown],
  );
  const nAway = names.filter((end) => !here.has(end)).length;
  if (pairs.length === 0) {
    return (
      <Empty title={t("comm.no-links")}>
        {!inner && links.some((l) => l.source.some((from, i) => from === l.destination[i])) && (
          <p class="quiet">{t("comm.only-inner")}</p>
        )}
      </Empty>
    );
  }
  const room = Math.min(Math.max(520, innerHeight - 380), innerWidth / 2 - 60);
  const side = Math.max(220, Math.min(room, 48 + names.length * 48));
  return (
    <>
      {nAway > 0 && <p class="quiet">{t("comm.away", nAway)}</p>}
      <div class="columns-matrix">
        <section class="card" style={{ width: `${Math.max(420, side + 40)}px` }}>
          <PairMap
            pairs={pairs}
            changes={changes}
            names={names}
            nameOf={nameOf}
            shortOf={(end) => shortName(end, here, strangers)}
            value={value}
            marked={marked}
            mark={setMarked}
            side={side}
          />
        </section>
        <div class="card flush">
          <Links
            pairs={pairs}
            base={basePairs}
            nameOf={nameOf}
            options={{
              title: t("comm.links"),
              urlKey: "links",
              maxRows: Math.max(12, Math.floor(side / ROW_PX)),
              sort: { column: "bandwidth", desc: false },
              bars: { bandwidth: "--communication" },
              isMarked: (row) => marked === keyOf(row.get("source"), row.get("destination")),
              onRow: (row) => setMarked(keyOf(row.get("source"), row.get("destination"))),
            }}
          />
        </div>
      </div>
    </>
  );
}

interface LinksProps {
  pairs: Pair[];
  /** Of the baseline; null: nothing is compared. */
  base: Pair[] | null;
  nameOf: NameOf;
  options: TableOptions;
}

function Links({ pairs, base, nameOf, options }: LinksProps) {
  const table = useMemo(() => pairTable(pairs, nameOf), [pairs, nameOf]);
  const both = useMemo(
    () => (base === null ? null : beside(table, pairTable(base, nameOf), LINKS_PAIRING)),
    [table, base],
  );
  return both === null ? (
    <LocalTable table={table} {...options} />
  ) : (
    <BesideLocal
      table={both}
      now={table}
      pairing={LINKS_PAIRING}
      lead={["bandwidth"]}
      options={options}
    />
  );
}

const LINKS_PAIRING: Pairing = {
  keys: ["source", "destination", "transport type"],
  sums: ["transit size", "transit time"],
};

interface PairMapProps {
  pairs: Pair[];
  /** Of both captures, where their differences are shown. */
  changes: PairChange[] | null;
  names: End[];
  nameOf: NameOf;
  /** For the axes. */
  shortOf: NameOf;
  value: Value;
  marked: string | null;
  mark: (key: string) => void;
  side: number;
}

function PairMap(p: PairMapProps) {
  const { pairs, changes, names, nameOf, shortOf, value, marked, mark, side } = p;
  const { least, most } = useAtom(state);
  const kinds = [...new Set(pairs.map(transportOf))].sort();
  const cells = useMemo(
    () =>
      changes === null ? cellsOf(pairs, names, kinds, value) : changeCells(changes, names, value),
    [pairs, changes, value],
  );
  const keyOfCell = (cell: HeatCell): string =>
    keyOf(nameOf(names[cell.column]), nameOf(names[cell.row]));
  return (
    <HeatMap
      title={[
        t("comm.matrix"),
        t(`comm.${value}`),
        ...(changes === null ? [] : [t("comm.difference")]),
      ].join(" ")}
      rows={names.map(shortOf)}
      columns={names.map(shortOf)}
      titleOf={(cell) => t("comm.link", nameOf(names[cell.column]), nameOf(names[cell.row]))}
      rowAxis={t("comm.to")}
      columnAxis={t("comm.from")}
      cells={cells}
      unit={UNIT[value]}
      text={(v) =>
        changes !== null
          ? signedText(v, significant)
          : value === "transport"
            ? (kinds[v - 1] ?? "")
            : significant(v)
      }
      lines={(cell) => cellLines(cell as PairCell, value)}
      isMarked={(cell) => marked === keyOfCell(cell)}
      onCell={(cell) => mark(keyOfCell(cell))}
      isLowStrong={value === "bandwidth"}
      isDifference={changes !== null}
      height={side}
      range={[{ least, most }, change]}
    />
  );
}

function cellsOf(pairs: Pair[], names: End[], kinds: string[], value: Value): PairCell[] {
  const place = new Map(names.map((rank, i) => [rank, i]));
  return pairs.map((pair) => ({
    row: place.get(pair.destination)!,
    column: place.get(pair.source)!,
    pair,
    value: value === "transport" ? kinds.indexOf(transportOf(pair)) + 1 : figure(pair, value),
  }));
}

/** What only one side has is no difference. */
function changeCells(changes: PairChange[], names: End[], value: Value): PairCell[] {
  const place = new Map(names.map((rank, i) => [rank, i]));
  return changes.map((sides) => ({
    row: place.get(sides.pair.destination)!,
    column: place.get(sides.pair.source)!,
    pair: sides.pair,
    sides,
    value:
      sides.now === null || sides.base === null
        ? NaN
        : figure(sides.now, value) - figure(sides.base, value),
  }));
}

function cellLines({ pair, sides }: PairCell, value: Value): [string, string][] {
  if (sides === undefined) {
    return linesOf(pair);
  }
  const side = (of: Pair | null): string =>
    of === null ? "–" : figureText(figure(of, value), UNIT[value]);
  return [
    ...(sides.now === null || sides.base === null
      ? ([["", t("comm.one-side")]] as [string, string][])
      : []),
    [t("comm.here"), side(sides.now)],
    [t("comm.there"), side(sides.base)],
    ...waysOf(pair),
  ];
}

const figure = (pair: Pair, value: Value): number =>
  value === "size" ? pair.size / 1e6 : value === "time" ? pair.time_ns / 1e6 : pair.bandwidth;

const figureText = (value: number, unit: string): string =>
  Number.isNaN(value) ? "–" : `${significant(value)} ${unit}`;

const linesOf = (p: Pair): [string, string][] => [
  [t("comm.bandwidth"), figureText(p.bandwidth, UNIT.bandwidth)],
  [t("comm.size"), figureText(p.size / 1e6, UNIT.size)],
  [t("comm.time"), duration(p.time_ns)],
  ...waysOf(p),
];

const waysOf = (p: Pair): [string, string][] => [
  [t("comm.transport"), p.transport.join(" + ")],
  ...(p.example === "" ? [] : ([[t("comm.operator"), p.example]] as [string, string][])),
];

/** Ends as numbers where all are ranks that are here, so that they sort as such. */
function pairTable(pairs: Pair[], nameOf: NameOf): Table {
  const isPlain = pairs.every((p) =>
    [p.source, p.destination].every((end) => nameOf(end) === String(end)),
  );
  const cell = (end: End): Cell => (isPlain ? end : nameOf(end));
  return {
    name: "links",
    title: "",
    total: pairs.length,
    offset: 0,
    columns: [
      ["source", isPlain ? "int" : "text", "", false],
      ["destination", isPlain ? "int" : "text", "", false],
      ["transport type", "text", "", false],
      ["transit size", "real", "MB", false], // as the matrix and the profiler have it
      ["transit time", "real", "ns", false],
      ["bandwidth", "real", "GB/s", false],
      ["operator", "text", "", false],
    ],
    rows: pairs.map((p): Cell[] => [
      cell(p.source),
      cell(p.destination),
      p.transport.join(" + "),
      p.size / 1e6,
      p.time_ns,
      Number.isNaN(p.bandwidth) ? null : p.bandwidth,
      p.example === "" ? null : p.example,
    ]),
  };
}
