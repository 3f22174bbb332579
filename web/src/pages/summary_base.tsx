/** What the capture is: its ranks, steps, times, size. */
import type { Table } from "../api/types";
import { useAtom } from "../base/atom";
import { bytesText, grouped } from "../base/format";
import { duration } from "../base/time";
import { ranks, session } from "../model/session";
import { dateLocale, t, type Word } from "../words";
import { captureFacts, hostsOf } from "./capture_facts";
import { choicesOf, reader, useReply, wholeTable } from "./data";

function Fact({ name, value }: { name: Word; value: string }) {
  return (
    <div>
      <dt>{t(name)}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** `own`: the capture that the page's tables are of; others that are open, as a baseline, are not counted. */
export function BaseInfo({ own, steps }: { own: number; steps: Table | null }) {
  const known = useAtom(ranks).filter((r) => r.cluster === own);
  const opened = useAtom(session)!;
  const facts = captureFacts(known);
  const marks = known.find((r) => r.comm_from_marks !== undefined)?.comm_from_marks;
  const info = useReply(`base ${own} ${facts.ready}`, (signal) =>
    wholeTable("view", { name: "base_info", cluster: own }, null, signal),
  ).data;
  const told = (name: string): number | null => {
    const row = info?.rows.find((one) => reader(info, "name")(one) === name);
    return row === undefined ? null : Number(row[1] ?? 0);
  };
  const size = told("data size") ?? 0;
  const hosts = hostsOf(told("hosts"), facts, known.length);
  // What only ranks in memory tell is said of these, never of the job.
  const ofRead = (value: string): string =>
    facts.ready < known.length ? t("summary.of-read", value, facts.ready) : value;
  return (
    <dl class="facts">
      <Fact name="summary.ranks" value={grouped(String(known.length))} />
      {hosts.n > 1 && (
        <Fact
          name="summary.hosts"
          value={hosts.isOfAll ? String(hosts.n) : ofRead(String(hosts.n))}
        />
      )}
      <Fact
        name="summary.steps"
        value={String(
          steps === null
            ? Math.max(0, ...known.map((r) => r.steps?.length ?? 0))
            : choicesOf(steps, "step").length,
        )}
      />
      {facts.ready > 0 && <Fact name="summary.start" value={ofRead(moment(facts.start))} />}
      {facts.ready > 0 && (
        <Fact name="summary.span" value={ofRead(duration(Number(facts.covered)))} />
      )}
      <Fact name="summary.slices" value={ofRead(grouped(String(facts.slices)))} />
      {size > 0 && <Fact name="summary.size" value={bytesText(size)} />}
      {marks !== undefined && (
        <Fact name="summary.communication" value={t(`comm.from-marks-${marks}`)} />
      )}
      <Fact name="summary.format" value={[...new Set(known.map((r) => r.format))].join(", ")} />
      <Fact name="summary.path" value={opened.clusters[own]?.path ?? ""} />
    </dl>
  );
}

/** An epoch as a date of this browser's zone; clocks that do not count from 1970 as they are. */
function moment(ns: bigint): string {
  const ms = Number(ns / 1_000_000n);
  return ms > 946_684_800_000 && ms < 4_102_444_800_000
    ? new Date(ms).toLocaleString(dateLocale())
    : duration(Number(ns));
}
