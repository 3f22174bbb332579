/** What a communication operator is to other ranks: its send or receive there, or the others of a collective and who came last. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { FlowsOf, OwnEnd, Rank, Ref, Slice } from "../api/types";
import { useAtom } from "../base/atom";
import { duration } from "../base/time";
import { fail } from "../model/notices";
import { load, rankOf, ranks } from "../model/session";
import { rankWord, t } from "../words";
import { Fields, RefButton } from "./detail";
import { isPartnerUnread, membersText, partnerOf, waitFor, waitWords } from "./peers_model";

const KINDS = ["communication", "communication-kernel"];
const ACROSS = ["send-recv", "collective"];
const SHOWN = 200;

/** The reply for a slice that communicates, null for others and while it is asked for. Asked again when more ranks are read. */
function useFlowsOf(slice: Slice, nRead: number): FlowsOf | null {
  const [reply, setReply] = useState<{ of: string; flows: FlowsOf } | null>(null);
  const id = `${slice.rank}|${slice.slice}`;
  useEffect(() => {
    if (!KINDS.includes(slice.kind)) {
      return undefined;
    }
    const stop = new AbortController();
    get<FlowsOf>("flows/of", { rank: slice.rank, slice: slice.slice }, stop.signal).then(
      (flows) => setReply({ of: id, flows }),
      () => undefined,
    );
    return () => stop.abort();
  }, [id, nRead]);
  return reply?.of === id ? reply.flows : null;
}

/** Where the partner of a send or receive is not read: who it is, and that rank to be read. */
function Partner({ own, rank }: { own: OwnEnd; rank: Rank | null }) {
  return (
    <p>
      {t(
        own.sends === true ? "detail.sends-to" : "detail.receives-from",
        rank !== null
          ? rankWord(rank.label)
          : own.peer === null
            ? t("detail.partner-unknown")
            : rankWord(`rank ${own.peer}`),
      )}
      {own.peer !== null && rank === null && `, ${t("detail.partner-not-captured")}`}
      {rank !== null && rank.state === "waiting" && (
        <>
          {" "}
          <button type="button" onClick={() => void load([rank.key]).catch(fail)}>
            {t("detail.read-rank", rankWord(rank.label))}
          </button>
        </>
      )}
      {rank !== null && ["queued", "reading"].includes(rank.state) && (
        <span class="quiet"> {t("rank.reading", rankWord(rank.label))}</span>
      )}
    </p>
  );
}

export function Peers({ slice }: { slice: Slice }) {
  const known = useAtom(ranks);
  const here = known.filter((r) => r.cluster === rankOf(slice.rank)?.cluster);
  const reply = useFlowsOf(slice, here.filter((r) => r.state === "ready").length);
  const flows = reply?.flows.filter((f) => ACROSS.includes(f.kind)) ?? [];
  const isAlone = reply !== null && isPartnerUnread(reply);
  if (reply === null || (flows.length === 0 && reply.collective === null && !isAlone)) {
    return null;
  }
  const isSelf = (ref: Ref): boolean => ref.rank === slice.rank && ref.slice === slice.slice;
  const met = reply.collective;
  const rows: [string, ComponentChildren][] =
    met === null
      ? []
      : [
          [t("detail.communicator"), <span class="mono">{met.group}</span>],
          [t("detail.ranks"), membersText(met, here)],
          [
            t("detail.last-rank"),
            met.last === null
              ? ""
              : isSelf(met.last)
                ? t("detail.this-one")
                : rankWord(rankOf(met.last.rank)?.label ?? ""),
          ],
          [t("detail.spread"), duration(met.spread_ns)],
          [t("detail.waited-all"), duration(met.waited_ns)],
        ];
  return (
    <>
      <h3>{t("detail.other-ranks")}</h3>
      {rows.length > 0 && <Fields rows={rows} />}
      {isAlone && reply.own !== null && (
        <Partner own={reply.own} rank={partnerOf(reply.own, here)} />
      )}
      <ul class="refs">
        {flows.slice(0, SHOWN).map((f, i) => (
          <li key={i}>
            {!isSelf(f.from) && (f.kind === "send-recv" || i === 0) && (
              <RefButton
                to={f.from}
                more={t(f.kind === "send-recv" ? "detail.sends" : "detail.came-last")}
                last={waitFor(slice, f.from, flows)}
              />
            )}
            {!isSelf(f.to) && <RefButton to={f.to} more={waitWords(f)} />}
          </li>
        ))}
      </ul>
      {flows.length > SHOWN && <p class="quiet">{t("detail.more", flows.length - SHOWN)}</p>}
      {reply.left_out > 0 && <p class="quiet">{t("detail.not-loaded", reply.left_out)}</p>}
    </>
  );
}
