/** From a rank of the job to its step: in the timeline, or in the chart of its pipeline. */
import { fail, notify } from "../model/notices";
import { tab } from "../model/session";
import { t } from "../words";
import { showSpan } from "./pipeline_jump";
import { choice, failure, loadChart, loaded } from "./pipeline_state";
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
    await showSpan(rank, found?.[1] ?? rank.start ?? 0, found?.[2] ?? rank.end ?? 0, false);
  } catch (error) {
    fail(error);
  }
}

export async function stepInPipeline(number: string, step: string | null): Promise<void> {
  if (loaded.get() === null) {
    await loadChart();
  }
  const now = loaded.get();
  const row = now?.chart.ranks.find((r) => String(r.rank) === number);
  if (now === null || row === undefined) {
    notify("warning", now === null ? t("where.no-chart") : t("where.not-in-chart", number));
    if (failure.get() !== null) {
      fail(failure.get());
    }
    return;
  }
  choice.update((c) => ({
    ...c,
    pipeline: row.pipeline,
    step: step !== null && now.chart.steps.includes(Number(step)) ? Number(step) : c.step,
  }));
  tab.set("pipeline");
}
