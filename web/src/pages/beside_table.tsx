/** Tables of one rank beside those of its partner in the baseline, and the choice of the baseline. */
import { useEffect, useMemo } from "preact/hooks";
import { hasNothing, type Params } from "../api/client";
import type { Rank, Table } from "../api/types";
import { useAtom } from "../base/atom";
import {
  baseline,
  baselineFrom,
  baselineOf,
  chooseBaseline,
  rankBeside,
  usePartner,
} from "../model/baseline";
import { openCaptures, shortNames } from "../model/captures";
import { fail } from "../model/notices";
import { load, ranks, session } from "../model/session";
import { Failed, Loading } from "../panels/empty";
import { Select } from "../panels/form";
import { DataTable, LocalTable } from "../panels/table";
import type { TableOptions } from "../panels/table_options";
import { rankWord, t, viewTitle, type Word } from "../words";
import { beside, DIFFERENCE, hasCommon, hiddenBeside, type Pairing } from "./beside";
import { useReply, wholeTable } from "./data";

interface PickerProps {
  /** The capture that is looked at. */
  now: number;
  /** Of pages of one rank: other ranks of its capture can be chosen, too. */
  rank?: Rank;
}

/** What the page is compared with; nothing where there is nothing to choose. */
export function BaselinePicker({ now, rank }: PickerProps) {
  const opened = useAtom(session);
  const which = useAtom(baseline);
  const known = useAtom(ranks);
  const base = baselineOf(opened, which);
  const captures = shortNames(openCaptures(opened).filter(([i]) => i !== now));
  const others = rank === undefined ? [] : known.filter((r) => r.cluster === now && r !== rank);
  const beside = rankBeside(which);
  if (captures.length + others.length === 0) {
    return null;
  }
  const isThere = others.some((r) => r.rank === beside);
  return (
    <Select
      label={t("beside.baseline")}
      value={
        beside !== null
          ? isThere
            ? `rank:${beside}`
            : "none"
          : base === null || base === now
            ? "none"
            : String(base)
      }
      options={[
        ["none", t("beside.none")],
        ...captures.map(([i, name]) => [String(i), name] as const),
        ...others.map((r) => [`rank:${r.rank}`, rankWord(r.label)] as const),
      ]}
      onChange={(to) => chooseBaseline(baselineFrom(to))}
    />
  );
}

export interface BesideProps extends TableOptions {
  of: Rank;
  /** A view of one rank (docs/serve-api.md), and its parameters beside the rank. */
  view: string;
  params?: Params;
  pairing: Pairing;
  /** Numbers whose baseline and change are shown at first. */
  lead: string[];
  /** The view of larger groups that are compared where both captures have no name in common, and what is said then. */
  otherwise?: { view: string; pairing: Pairing; text: Word };
}

/** A view of a rank: with the baseline's numbers where there is a baseline. */
export function BesideTable({ view, of, params, ...rest }: BesideProps) {
  const partner = usePartner(of);
  const rank = of.key;
  const { pairing, lead, otherwise, ...options } = rest;
  return partner === null ? (
    <DataTable path="view" params={{ ...params, name: view, rank }} {...options} />
  ) : (
    <Both
      {...{ view, rank, pairing, lead, otherwise, partner, options }}
      cluster={of.cluster}
      params={params ?? {}}
    />
  );
}

interface BothProps extends Pick<BesideProps, "view" | "pairing" | "lead"> {
  otherwise: BesideProps["otherwise"];
  rank: string;
  cluster: number;
  params: Params;
  partner: Rank;
  options: TableOptions;
}

const NOTHING: Table = { name: "", title: "", columns: [], total: 0, offset: 0, rows: [] };

/** What a capture has nothing of is an empty table beside one that has. */
const orNothing = (asked: Promise<Table | null>): Promise<Table | null> =>
  asked.catch((error: unknown) => {
    if (hasNothing(error)) {
      return NOTHING;
    }
    throw error;
  });

function Both(p: BothProps) {
  const { view, rank, cluster, params, partner, pairing, lead, otherwise, options } = p;
  useEffect(() => {
    if (partner.state === "waiting") {
      load([partner.key]).catch(fail);
    }
  }, [partner.key, partner.state]);
  const isReady = partner.state === "ready";
  const reply = useReply(
    JSON.stringify([view, rank, partner.key, params, isReady]),
    isReady
      ? async (signal) => {
          const ask = (key: string) =>
            wholeTable("view", { ...params, name: view, rank: key }, null, signal);
          const now = await ask(rank);
          return { now, base: await orNothing(ask(partner.key)) };
        }
      : null,
  );
  const both = useMemo(() => {
    const { now, base } = reply.data ?? { now: null, base: null };
    return now === null ? null : beside(now, base ?? NOTHING, pairing);
  }, [reply.data, pairing]);
  if (partner.state === "failed") {
    return <p class="bad">{t("beside.failed", rankWord(partner.label), partner.error)}</p>;
  }
  if (reply.error !== null) {
    return <Failed error={reply.error} retry={reply.retry} />;
  }
  if (both === null) {
    return (
      <Loading what={isReady ? t("frame.loading") : t("rank.reading", rankWord(partner.label))} />
    );
  }
  const { now, base } = reply.data!;
  const isOneCapture = partner.cluster === cluster;
  const isStrange = base !== null && base.rows.length > 0 && !hasCommon(now!, base, pairing);
  if (otherwise !== undefined && isStrange && now!.rows.length > 0) {
    return (
      <>
        <p class="quiet card-note">{t(otherwise.text)}</p>
        <Both {...p} {...otherwise} otherwise={undefined} key={otherwise.view} />
      </>
    );
  }
  return (
    <BesideLocal
      table={both}
      now={now!}
      pairing={pairing}
      lead={lead}
      options={options}
      {...(isOneCapture ? { rank: partner } : {})}
    />
  );
}

interface LocalProps {
  /** Of beside(). */
  table: Table;
  now: Table;
  pairing: Pairing;
  lead: string[];
  options: TableOptions;
  /** What stands beside it where that is a rank of the same capture. */
  rank?: Rank;
}

/** Sorted by what differs most. */
export function BesideLocal({ table, now, pairing, lead, options, rank }: LocalProps) {
  const title = options.title ?? viewTitle(now);
  return (
    <LocalTable
      table={table}
      {...options}
      title={
        rank === undefined
          ? t("beside.title", title)
          : t("beside.title-rank", title, rankWord(rank.label))
      }
      name={table.name}
      hidden={[...(options.hidden ?? []), ...hiddenBeside(now, pairing, lead)]}
      {...(options.urlKey === undefined ? {} : { urlKey: `${options.urlKey}-beside` })}
      sort={{ column: lead[0] + DIFFERENCE, desc: true }}
    />
  );
}
