/** The call tree as the server gives it (docs/serve-api.md, /api/call_tree and the mode call_tree). */
import type { Cell, Table } from "../api/types";
import type { CallNode, Time } from "../model/flame";
import { reader } from "./data";

/** In the order of the table: parents first. Empty: the table has nothing. */
export function callsOf(table: Table | null): CallNode[] {
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
      self: both(1),
      n: Number(n(row) ?? 0),
      longest: number(longest(row)),
      slice: number(slice(row)),
      rank: number(rank(row)),
      start: start(row) === null ? null : String(start(row)),
    });
  }
  return out;
}
