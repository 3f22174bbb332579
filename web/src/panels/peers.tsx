/** What a communication operator is to other ranks: its send or receive there, or the others of a collective and who came last. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { FlowsOf, Ref, Slice } from "../api/types";
import { duration } from "../base/time";
import { rankOf } from "../model/session";
import { rankWord, t } from "../words";
import { Fields, RefButton } from "./detail";

const KINDS = ["communication", "communication-kernel"];
const ACROSS = ["send-recv", "collective"];
const SHOWN = 200;

/** The reply for a slice that communicates, null for others and while it is asked for. */
function useFlowsOf(slice: Slice): FlowsOf | null {
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
  }, [id]);
  return reply?.of === id ? reply.flows : null;
}

export function Peers({ slice }: { slice: Slice }) {
  const reply = useFlowsOf(slice);
  const flows = reply?.flows.filter((f) => ACROSS.includes(f.kind)) ?? [];
  if (reply === null || (flows.length === 0 && reply.collective === null)) {
    return null;
  }
  const isSelf = (ref: Ref): boolean => ref.rank === slice.rank && ref.slice === slice.slice;
  const met = reply.collective;
  const rows: [string, ComponentChildren][] =
    met === null
      ? []
      : [
          [t("detail.communicator"), <span class="mono">{met.group}</span>],
          [t("detail.ranks"), String(met.n)],
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
      <ul class="refs">
        {flows.slice(0, SHOWN).map((f, i) => (
          <li key={i}>
            {!isSelf(f.from) && (f.kind === "send-recv" || i === 0) && (
              <RefButton
                to={f.from}
                more={t(f.kind === "send-recv" ? "detail.sends" : "detail.came-last")}
              />
            )}
            {!isSelf(f.to) && (
              <RefButton
                to={f.to}
                more={
                  f.waited_ns === undefined
                    ? t("detail.wait-unknown")
                    : t("detail.waited", duration(f.waited_ns))
                }
              />
            )}
          </li>
        ))}
      </ul>
      {flows.length > SHOWN && <p class="quiet">{t("detail.more", flows.length - SHOWN)}</p>}
      {reply.left_out > 0 && <p class="quiet">{t("detail.not-loaded", reply.left_out)}</p>}
    </>
  );
}
