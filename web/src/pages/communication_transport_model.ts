/** Bandwidths by transport, and packets by their size, as the profiler counted them. Times are ns, sizes bytes. */
import type { Table } from "../api/types";
import { bytesReader, isChosen, text, type Choice } from "./communication_model";
import { nsReader, reader } from "./data";

export interface Packets {
  size_bytes: number;
  n: number;
  time_ns: number;
}

export interface Transport {
  name: string;
  size_bytes: number;
  time_ns: number;
  /** By size, the smallest first. */
  packets: Packets[];
}

/** What the profiler sums up as SDMA: beside them it would count twice. */
const OF_SDMA = ["HCCS", "PCIE", "SIO"];

/** Sums over what the choice leaves open, transports by name; no sum of others. Each operator has a row for each size of packets, and says its own size and time in all of them. */
export function transportsOf(table: Table, choice: Choice): Transport[] {
  const [step, rank, op, group, transport, count] = [
    reader(table, "step"),
    reader(table, "rank id", "rank"),
    reader(table, "hccl op name"),
    reader(table, "group name"),
    reader(table, "band type"),
    reader(table, "count"),
  ];
  const [size, time] = [bytesReader(table, "transit size"), nsReader(table, "transit time")];
  const [packet, spent] = [bytesReader(table, "package size"), nsReader(table, "total duration")];
  const found = new Map<string, Transport>();
  const seen = new Set<string>();
  for (const row of table.rows) {
    const of = { step: text(step(row)), group: text(group(row)), op: text(op(row)) };
    if (!isChosen(of, choice)) {
      continue;
    }
    const name = text(transport(row));
    const sum = found.get(name) ?? { name, size_bytes: 0, time_ns: 0, packets: [] };
    found.set(name, sum);
    const key = JSON.stringify([of.step, rank(row), of.op, of.group, name]);
    if (!seen.has(key)) {
      seen.add(key);
      sum.size_bytes += size(row);
      sum.time_ns += time(row) ?? 0;
    }
    const n = Number(count(row) ?? 0);
    if (n > 0) {
      addPackets(sum.packets, { size_bytes: packet(row), n, time_ns: spent(row) ?? 0 });
    }
  }
  const used = [...found.values()].filter((x) => x.size_bytes > 0 || x.packets.length > 0);
  const isSum = used.some((x) => OF_SDMA.includes(x.name));
  const all = used.filter((x) => x.name !== "SDMA" || !isSum);
  all.forEach((x) => x.packets.sort((a, b) => a.size_bytes - b.size_bytes));
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function addPackets(to: Packets[], more: Packets): void {
  const same = to.find((p) => p.size_bytes === more.size_bytes);
  if (same === undefined) {
    to.push(more);
  } else {
    same.n += more.n;
    same.time_ns += more.time_ns;
  }
}

/** All sizes of packets, the smallest first. */
export const sizesOf = (transports: readonly Transport[]): number[] =>
  [...new Set(transports.flatMap((x) => x.packets.map((p) => p.size_bytes)))].sort((a, b) => a - b);
