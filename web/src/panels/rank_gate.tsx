/** For what is of one rank: shown once it is read, until then what it is doing. Asks for it to be read. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Rank } from "../api/types";
import { fail } from "../model/notices";
import { load } from "../model/session";
import { Empty } from "./empty";
import { rankWord, t } from "../words";

export function RankGate({ rank, children }: { rank: Rank | null; children: ComponentChildren }) {
  useEffect(() => {
    if (rank?.state === "waiting") {
      load([rank.key]).catch(fail);
    }
  }, [rank?.key, rank?.state]);
  if (rank === null) {
    return <Empty title={t("rank.none")} />;
  }
  switch (rank.state) {
    case "ready":
      return <>{children}</>;
    case "failed":
      return (
        <Empty title={t("rank.failed", rankWord(rank.label))}>
          <p class="bad">{rank.error}</p>
          <button type="button" onClick={() => void load([rank.key]).catch(fail)}>
            {t("frame.retry")}
          </button>
        </Empty>
      );
    default:
      return (
        <Empty title={t("rank.reading", rankWord(rank.label))}>
          <span
            class="progress"
            role="progressbar"
            aria-valuenow={Math.round(rank.progress * 100)}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <i style={{ width: `${rank.progress * 100}%` }} />
          </span>
        </Empty>
      );
  }
}
