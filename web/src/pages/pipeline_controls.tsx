/** What is chosen above the chart: data, pipeline, step, colours, what lies below, arrows, figures, zoom. */
import type { RefObject } from "preact";
import { useAtom } from "../base/atom";
import { openCaptures, shortNames } from "../model/captures";
import { session } from "../model/session";
import type { ChartView } from "../pipeline/chart_view";
import { hasPhases, pipelinesOf } from "../pipeline/rows";
import { inBrackets, t } from "../words";
import { cluster } from "./job_state";
import {
  arrows,
  choice,
  figures,
  loaded,
  path,
  simulated,
  under,
  type Under,
} from "./pipeline_state";

const ZOOM = 1.5;
const ALL = "all";

export function Controls({ view, cloud }: { view: RefObject<ChartView>; cloud: boolean }) {
  const now = useAtom(loaded);
  const chosen = useAtom(choice);
  const below = useAtom(under);
  const known = useAtom(session);
  const number = useAtom(cluster);
  const withArrows = useAtom(arrows);
  const withPath = useAtom(path);
  const withFigures = useAtom(figures);
  const drawn = useAtom(simulated);
  const steps = now === null ? [] : now.chart.steps;
  const pipelines = now === null ? [] : pipelinesOf(now.chart);
  const captures = shortNames(openCaptures(known));
  return (
    <div class="pl-controls">
      {captures.length > 1 && (
        <label>
          {t("pipeline.cluster")}
          <select
            value={String(number)}
            onChange={(e) => cluster.set(Number(e.currentTarget.value))}
          >
            {captures.map(([i, name]) => (
              <option key={i} value={String(i)}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {pipelines.length > 1 && (
        <label>
          {t("pipeline.pipeline")}
          <select
            aria-label={t("pipeline.pipeline")}
            value={chosen.pipeline === null ? ALL : String(chosen.pipeline)}
            onChange={(e) =>
              choice.set({
                ...chosen,
                pipeline: e.currentTarget.value === ALL ? null : Number(e.currentTarget.value),
              })
            }
          >
            {pipelines.map((p) => (
              <option key={p} value={String(p)}>
                {p}
              </option>
            ))}
            <option value={ALL}>{t("pipeline.all-pipelines", pipelines.length)}</option>
          </select>
        </label>
      )}
      {steps.length > 1 && (
        <label>
          {t("pipeline.step")}
          <select
            aria-label={t("pipeline.step")}
            value={chosen.step === null ? ALL : String(chosen.step)}
            onChange={(e) =>
              choice.set({
                ...chosen,
                step: e.currentTarget.value === ALL ? null : Number(e.currentTarget.value),
              })
            }
          >
            {steps.map((s) => (
              <option key={s} value={String(s)}>
                {s}
              </option>
            ))}
            <option value={ALL}>{t("pipeline.all-steps")}</option>
          </select>
        </label>
      )}
      {now !== null && hasPhases(now.chart) && (
        <label>
          {t("pipeline.colour")}
          <select
            aria-label={t("pipeline.colour")}
            value={chosen.byPhase ? "phase" : "kind"}
            onChange={(e) => choice.set({ ...chosen, byPhase: e.currentTarget.value === "phase" })}
          >
            <option value="phase">{t("pipeline.by-phase")}</option>
            <option value="kind">{t("pipeline.by-kind")}</option>
          </select>
        </label>
      )}
      {now !== null && (
        <label>
          {t("pipeline.under")}
          <select
            class="pl-under"
            aria-label={t("pipeline.under")}
            value={below}
            onChange={(e) => under.set(e.currentTarget.value as Under)}
          >
            <option value="none">{t("pipeline.under-none")}</option>
            <option value="form">{t("pipeline.under-form")}</option>
            <option value="replay">{t("pipeline.under-replay")}</option>
            {captures.map(([i, name]) =>
              i === number ? null : (
                <option key={i} value={`beside:${i}`}>
                  {t("pipeline.under-beside", name)}
                </option>
              ),
            )}
            {(known?.schedules ?? []).map(({ name, summary }) => (
              <option key={name} value={`theory:${name}`} title={summary}>
                {t("pipeline.under-theory", name)}
              </option>
            ))}
          </select>
        </label>
      )}
      {(now?.chart ?? drawn?.chart)?.links.n !== 0 && (
        <label title={t("pipeline.arrows-title")}>
          <input
            type="checkbox"
            checked={withArrows}
            onChange={(e) => arrows.set(e.currentTarget.checked)}
          />
          {t("pipeline.arrows")}
          {cloud && <span class="quiet">{inBrackets(t("pipeline.too-many"))}</span>}
        </label>
      )}
      {(now?.chart.path.length ?? 0) > 0 && (
        <label title={t("pipeline.path-title")}>
          <input
            type="checkbox"
            checked={withPath}
            onChange={(e) => path.set(e.currentTarget.checked)}
          />
          {t("pipeline.path")}
        </label>
      )}
      <label title={t("pipeline.figures-title")}>
        <input
          type="checkbox"
          checked={withFigures}
          onChange={(e) => figures.set(e.currentTarget.checked)}
        />
        {t("pipeline.figures")}
      </label>
      <span class="group">
        <button
          type="button"
          title={`${t("pipeline.zoom-out")} (-)`}
          aria-label={t("pipeline.zoom-out")}
          onClick={() => view.current?.zoom(1 / ZOOM)}
        >
          −
        </button>
        <button
          type="button"
          title={`${t("pipeline.zoom-in")} (+)`}
          aria-label={t("pipeline.zoom-in")}
          onClick={() => view.current?.zoom(ZOOM)}
        >
          +
        </button>
        <button
          type="button"
          title={`${t("pipeline.fit")} (0)`}
          aria-label={t("pipeline.fit")}
          onClick={() => view.current?.fit()}
        >
          {t("pipeline.fit-short")}
        </button>
      </span>
    </div>
  );
}
