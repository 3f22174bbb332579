/** What each transport carried, how fast, and in packets of which sizes. */
import { useMemo } from "preact/hooks";
import type { Table } from "../api/types";
import { bytesText } from "../base/format";
import { StackedBars } from "../panels/chart";
import { useColours } from "../panels/drawing";
import { LocalTable } from "../panels/table";
import { t } from "../words";
import { chosenType, type Choice } from "./communication_model";
import { sizesOf, transportsOf, type Transport } from "./communication_transport_model";

export function Transports({ table, choice }: { table: Table; choice: Choice }) {
  const transports = useMemo(
    () => transportsOf(table, choice),
    [table, choice.step, choice.group, choice.op],
  );
  const sums = useMemo(() => sumsOf(transports), [transports]);
  return (
    <>
      {transports.length > 0 && (
        <div class="card flush">
          <LocalTable
            table={sums}
            title={t("comm.transports")}
            maxRows={8}
            bars={{ bandwidth: "--communication" }}
          />
        </div>
      )}
      <PacketSizes transports={transports} />
      <Details table={table} choice={choice} />
    </>
  );
}

function PacketSizes({ transports: all }: { transports: Transport[] }) {
  const colours = useColours();
  const transports = useMemo(() => all.filter((x) => x.packets.length > 0), [all]);
  const series = transports.map((x, i) => ({
    name: x.name,
    colour: colours.tints[i % 12] ?? colours.accent,
  }));
  const bars = useMemo(
    () =>
      sizesOf(transports).map((size) => {
        const packets = transports.map((x) => x.packets.find((p) => p.size_bytes === size));
        return {
          label: bytesText(size),
          parts: packets.map((p) => p?.time_ns ?? null),
          more: packets.flatMap((p, i): [string, string][] =>
            p === undefined ? [] : [[t("comm.packets-of", transports[i].name), String(p.n)]],
          ),
        };
      }),
    [transports],
  );
  return bars.length === 0 ? null : (
    <section class="card">
      <h3>{t("comm.packets")}</h3>
      <StackedBars
        title={t("comm.packets")}
        bars={bars}
        series={series}
        axis={t("comm.packet-size")}
        height={200}
      />
    </section>
  );
}

/** As the profiler wrote them: a row for each operator, transport and size of packets. */
function Details({ table, choice }: { table: Table; choice: Choice }) {
  const filters = {
    ...(choice.step === "" ? {} : { step: choice.step }),
    ...(choice.group === "" ? {} : { group_name: choice.group }),
    ...(choice.op === "" ? {} : { hccl_op_name: chosenType(choice.op) ?? choice.op }),
  };
  return (
    <div class="card flush">
      <LocalTable
        key={JSON.stringify(filters)}
        table={table}
        title={t("comm.bandwidths")}
        maxRows={10}
        filter={filters}
        bars={{ bandwidth: "--communication" }}
      />
    </div>
  );
}

const sumsOf = (transports: Transport[]): Table => ({
  name: "transports",
  title: "",
  total: transports.length,
  offset: 0,
  columns: [
    ["transport", "text", "", false],
    ["transit size", "real", "MB", false],
    ["transit time", "real", "ns", false],
    ["bandwidth", "real", "GB/s", false],
    ["packets", "int", "count", false],
  ],
  rows: transports.map((x) => [
    x.name,
    x.size_bytes / 1e6,
    x.time_ns,
    x.time_ns > 0 ? x.size_bytes / x.time_ns : null,
    x.packets.reduce((sum, p) => sum + p.n, 0),
  ]),
});
