/** From a rank of the job to its step: in the timeline, or in the chart of its pipeline. */
import { fail, notify } from "../model/notices";
import { tab } from "../model/session";
import { t } from "../words";
import { showSpan } from "./pipeline_jump";
import { choice, follow, isLoading, loaded, type Loaded } from "./pipeline_state";
import { readyRank } from "./ready_rank";

/** The rank is read when it is not yet. `step` null, or one that it has not: all of it. */
export async function stepInTimeline(key: string, step: string | null): Promise<void> {
  if (key === "") {
    notify("warning", t("pipeline.jump-none"));
    return;
  }
  try {
    const rank = await readyRank(key);
    const found = step === null ? undefined : rank.steps?.find(([id]) => String(id) === step);
    await showSpan(
      rank,
      found?.[1] ?? rank.start ?? 0,
      found?.[2] ?? rank.end ?? 0,
      found !== undefined,
    );
  } catch (error) {
    fail(error);
  }
}

/** The chart that the page shows, once it is here or known not to be. */
function chartOnPage(): Promise<Loaded | null> {
  return new Promise((done) => {
    const check = (): boolean => {
      const isThere = !isLoading.get();
      if (isThere) {
        done(loaded.get());
      }
      return isThere;
    };
    follow();
    if (!check()) {
      const stop = isLoading.listen(() => check() && stop());
    }
  });
}

/** The page says itself why there is no chart. */
export async function stepInPipeline(number: string, step: string | null): Promise<void> {
  tab.set("pipeline");
  const now = await chartOnPage();
  const row = now?.chart.ranks.find((r) => String(r.rank) === number);
  if (now !== null && row === undefined) {
    notify("warning", t("where.not-in-chart", number));
  } else if (now !== null && row !== undefined) {
    choice.update((c) => ({
      ...c,
      pipeline: row.pipeline,
      step: step !== null && now.chart.steps.includes(Number(step)) ? Number(step) : c.step,
    }));
  }
}
