/** Events View: all slices of the lanes that were asked for (T-75). */
import { useEffect } from "preact/hooks";
import { useAtom } from "../base/atom";
import { list } from "../api/client";
import { analysisSpan, rankOf, ranks } from "../model/session";
import { laneName } from "../model/shown";
import { shownEvents } from "../model/timeline";
import { treeChanged, wantLanes } from "../model/tree";
import { rankWord, t } from "../words";
import { Empty } from "./empty";
import { RankGate } from "./rank_gate";
import { spanParams } from "./system";
import { DataTable } from "./table";

export function Events() {
  const of = useAtom(shownEvents);
  const span = useAtom(analysisSpan);
  const rank = of === null ? undefined : rankOf(of.rank);
  // An address leads here before the rank's lanes, which have the names, are there.
  useAtom(treeChanged);
  const isRead = useAtom(ranks).some((r) => r.key === of?.rank && r.state === "ready");
  useEffect(() => {
    if (of !== null && isRead) {
      void wantLanes(of.rank);
    }
  }, [of?.rank, isRead]);
  if (of === null || rank === undefined || of.lanes.length === 0) {
    return (
      <Empty title={t("events.none")}>
        <p class="quiet">{t("events.none-hint")}</p>
      </Empty>
    );
  }
  const names = of.lanes
    .slice(0, 3)
    .map((lane) => laneName(of.rank, lane))
    .join(", ");
  const params = {
    rank: of.rank,
    lanes: list(of.lanes),
    ...spanParams(span, rank),
  };
  return (
    <div class="events">
      <RankGate rank={rank}>
        <DataTable
          path="slices"
          params={params}
          title={`${rankWord(rank.label)} \u203a ${names}${of.lanes.length > 3 ? " \u2026" : ""}`}
          name="events"
          urlKey="events"
        />
      </RankGate>
    </div>
  );
}
