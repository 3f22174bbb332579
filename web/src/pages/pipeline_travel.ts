/** Clicks in the chart, and the way to the timeline and back. */
import { gotoPipeline, tab } from "../model/session";
import { notify } from "../model/notices";
import type { ChartView } from "../pipeline/chart_view";
import { isTheory, type Target } from "../pipeline/targets";
import { t } from "../words";
import { jump, opOf, placeInChart, stepAt } from "./pipeline_jump";
import { choice, loaded, under, type Drawn } from "./pipeline_state";

export function toTimeline(view: ChartView, drawn: Drawn, target: Target): void {
  const place = view.placeOf(target);
  const now = loaded.get();
  const isBeside = isTheory(target) && under.get().startsWith("beside:");
  if (drawn.isAlone || now === null || isTheory(target) || place.row.rankRow < 0) {
    notify("info", t(isBeside ? "pipeline.jump-beside" : "pipeline.jump-theory"));
    return;
  }
  void jump(now, place.row.rankRow, place.op, place.startNs, place.endNs);
}

export function clicked(
  view: ChartView,
  drawn: Drawn,
  target: Target | null,
  keeps: boolean,
): void {
  view.pin(target);
  if (target !== null && !keeps && !drawn.isAlone && !isTheory(target)) {
    toTimeline(view, drawn, target);
  }
}

/** Takes what the timeline asked for, once there is a chart: another step or pipeline is chosen first, then this is called again. */
export function goBack(view: ChartView): void {
  const asked = gotoPipeline.get();
  const now = loaded.get();
  if (asked === null || now === null) {
    return;
  }
  const place = placeInChart(now, asked);
  const op = place === null ? -1 : opOf(now.chart, place);
  const step = place === null ? null : op >= 0 ? now.chart.step[op] : stepAt(now.chart, place);
  if (place === null || step === null) {
    gotoPipeline.set(null);
    notify("info", t("pipeline.back-none"));
    return;
  }
  const { pipeline } = now.chart.ranks[place.rankRow];
  const c = choice.get();
  if ((c.step !== null && c.step !== step) || (c.pipeline !== null && c.pipeline !== pipeline)) {
    choice.set({
      ...c,
      step: c.step === null ? null : step,
      pipeline: c.pipeline === null ? null : pipeline,
    });
    return;
  }
  gotoPipeline.set(null);
  tab.set("pipeline");
  requestAnimationFrame(() => {
    // Outside of all ops a time of the device still has a gap; one of the host has no place in the chart.
    const isApart = place.isHost === true && now.chart.hostStart !== null;
    const there = isApart ? null : view.find(place.rankRow, (place.from + place.to) / 2);
    // A receive may last as long as the gap that it is waited for in.
    const gap = view.findGap(place.rankRow, place.from, place.to);
    const target = gap ?? (op >= 0 ? view.findOp(op) : there);
    const found = target === null ? null : view.placeOf(target);
    view.show(place.rankRow, found?.startNs ?? place.from, found?.endNs ?? place.to);
    view.pin(target);
    view.takeFocus();
    if (target === null) {
      notify("info", t("pipeline.back-none"));
    }
  });
}
