/** The Pipeline page: the chart of the job's pipelines, figures beside its rows, and below it tables and the simulation. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, getText, postText } from "../api/client";
import { register } from "../model/commands";
import { registerUrl, urlChanged } from "../model/url_state";
import { useAtom } from "../base/atom";
import { duration, percent } from "../base/time";
import { blobOf, offer } from "../model/exports";
import { isDark, theme } from "../model/look";
import { gotoPipeline, ranks, session, tab } from "../model/session";
import { notify, sentenceOf } from "../model/notices";
import { ChartView } from "../pipeline/chart_view";
import type { Column } from "../pipeline/margins";
import { isTransfer, type Chart } from "../pipeline/model";
import { legend } from "../pipeline/panels";
import { bubbleShare, pipelinesOf, stepsOf, type View } from "../pipeline/rows";
import { isTheory, type Target } from "../pipeline/targets";
import { Empty, Failed, Loading } from "../panels/empty";
import { language, said, t } from "../words";
import { jump, placeInChart, stepAt } from "./pipeline_jump";
import { Bottom } from "./pipeline_bottom";
import { Controls } from "./pipeline_controls";
import { cluster, job } from "./job_state";
import {
  arrows,
  askOf,
  chartParams,
  choice,
  failure,
  figures,
  follow,
  form,
  isLoading,
  loadChart,
  loaded,
  readState,
  refusal,
  simulated,
  stepBy,
  under,
  wantedWindow,
  writeState,
  type Choice,
  type Loaded,
  type Simulated,
} from "./pipeline_state";
import { chartTexts, chartWords } from "./pipeline_words";
import "../pipeline/chart.css";
import "./pipeline.css";

const ZOOM_KEY = 1.5;

/** What is drawn: the measured chart with something below it, or a simulation alone. */
interface Drawn {
  chart: Chart;
  against: Chart | null;
  choice: Choice;
  isAlone: boolean;
}

function drawnOf(now: Loaded | null, sim: Simulated | null, chosen: Choice): Drawn | null {
  if (now !== null) {
    return { chart: now.chart, against: sim?.chart ?? null, choice: chosen, isAlone: false };
  }
  return sim === null
    ? null
    : {
        chart: sim.chart,
        against: null,
        choice: { ...chosen, step: 1, pipeline: 0 },
        isAlone: true,
      };
}

/** Figures of each stage beside its row. */
function columnsFor(view: View | null, all: boolean): Column[] {
  const most = Math.max(1, ...(view?.rows ?? []).map((r) => Math.max(...r.causeNs)));
  const unit =
    most >= 1e9
      ? { name: "s", ns: 1e9 }
      : most >= 1e6
        ? { name: "ms", ns: 1e6 }
        : { name: "µs", ns: 1e3 };
  const time = (ns: number): string => {
    const v = ns / unit.ns;
    return v === 0 ? "0" : most / unit.ns >= 99.95 ? v.toFixed(1) : v.toFixed(2);
  };
  const measured = (view?.rows ?? []).filter((r) => r.ops.n > 0);
  const mean = measured.reduce((sum, r) => sum + r.busyNs, 0) / Math.max(1, measured.length);
  const cause = (i: number, head: string): Column => ({
    head: `${head} ${unit.name}`,
    width: 80,
    cell: (r) => time(r.causeNs[i] ?? 0),
    title: (r) => duration(r.causeNs[i] ?? 0),
  });
  const busy: Column = {
    head: t("chart.busy"),
    width: 52,
    cell: (r) => percent(r.busyNs / r.windowNs),
    title: (r) => duration(r.busyNs),
  };
  return !all
    ? [busy]
    : [
        busy,
        cause(0, t("pipeline.warm-up")),
        cause(1, t("pipeline.stall")),
        {
          head: t("pipeline.for"),
          width: 60,
          cell: (r) => (r.waits === null ? "" : t("pipeline.for-stage", r.waits.stage)),
          title: (r) => (r.waits === null ? "" : t("pipeline.for-title", duration(r.waits.ns))),
        },
        { ...cause(2, t("pipeline.cool-down")), width: 88 },
        {
          head: t("pipeline.imbalance"),
          width: 60,
          title: () => t("pipeline.imbalance-title"),
          cell: (r) => {
            const off = mean > 0 ? (100 * (r.busyNs - mean)) / mean : 0;
            return `${off > 0.05 ? "+" : off < -0.05 ? "−" : ""}${Math.abs(off).toFixed(1)} %`;
          },
        },
      ];
}

function factsOf(drawn: Drawn, view: View, sim: Simulated | null): string[] {
  const { chart } = drawn;
  const facts = [
    chart.how !== ""
      ? chart.schedule !== ""
        ? `${chart.schedule}, ${said(chart.how)}`
        : said(chart.how)
      : chart.schedule,
  ];
  if (!drawn.isAlone) {
    facts.push(
      view.step === null
        ? t("pipeline.fact-steps", stepsOf(chart).length)
        : t("pipeline.fact-step", view.step),
    );
    const pipelines = pipelinesOf(chart);
    if (pipelines.length > 1) {
      facts.push(
        view.pipeline === null
          ? t("pipeline.all-pipelines", pipelines.length)
          : t("pipeline.fact-pipeline", view.pipeline),
      );
    }
  }
  const bubble = bubbleShare(view.rows);
  facts.push(
    duration(view.windowNs),
    bubble === null ? t("pipeline.fact-untold") : t("pipeline.fact-bubble", percent(bubble)),
  );
  if (chart.untold !== "") {
    facts.push(chart.untold);
  }
  if (!drawn.isAlone && sim !== null) {
    facts.push(
      t(
        "pipeline.fact-under",
        underText(sim),
        duration(sim.reply.step_ns),
        percent(sim.reply.bubble),
      ),
    );
  }
  return facts.filter((f) => f !== "");
}

function underText(sim: Simulated): string {
  return sim.under.startsWith("theory:")
    ? t("pipeline.under-theory", sim.under.slice(7))
    : sim.under === "replay"
      ? t("pipeline.under-replay")
      : sim.reply.used.schedule;
}

export function PipelinePage() {
  const now = useAtom(loaded);
  const sim = useAtom(simulated);
  const chosen = useAtom(choice);
  const busy = useAtom(isLoading);
  const error = useAtom(failure);
  const colours = useAtom(theme);
  const withArrows = useAtom(arrows);
  const withFigures = useAtom(figures);
  const known = useAtom(session);
  const below = useAtom(under);
  useAtom(refusal);
  const lang = useAtom(language);
  const host = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const legendBox = useRef<HTMLDivElement>(null);
  const view = useRef<ChartView | null>(null);
  const [facts, setFacts] = useState<string[]>([]);
  const [cloud, setCloud] = useState(false);
  const shownSim = now === null || below === "none" ? (now === null ? sim : null) : sim;
  const drawn = useMemo(() => drawnOf(now, shownSim, chosen), [now, shownSim, chosen]);
  const drawnNow = useRef<Drawn | null>(null);
  const before = useRef<{ chart: Chart; choice: Choice } | null>(null);
  drawnNow.current = drawn;

  useEffect(() => {
    const stop = registerUrl({
      prefix: "pp",
      read: () => readState(view.current?.window ?? wantedWindow.get()),
      write: writeState,
    });
    follow();
    const stops = [under, choice, arrows, figures, form, job, cluster].map((atom) =>
      atom.listen(urlChanged),
    );
    return () => (stop(), stops.forEach((s) => s()));
  }, []);

  useEffect(() => {
    if (host.current === null || scroller.current === null || known === null || drawn === null) {
      return undefined;
    }
    const made = new ChartView(host.current, {
      words: chartWords(known),
      texts: chartTexts(under.get()),
      scroller: scroller.current,
      zoomsOnDouble: false,
      columns: columnsFor(null, figures.get()),
      room: () => roomIn(scroller.current),
      onClick: (target, event) =>
        clicked(made, drawnNow.current!, target, event.shiftKey || event.ctrlKey || event.metaKey),
      onMoved: () => (urlChanged(), setCloud(made.tooManyArrows)),
    });
    view.current = made;
    before.current = null;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [known, drawn === null]);

  useEffect(() => {
    const made = view.current;
    if (made === null || drawn === null || known === null) {
      return;
    }
    // Another step, pipeline or simulation is looked at through the same window, so that they can be compared.
    const was = before.current;
    const keeps =
      was !== null &&
      (was.chart === drawn.chart || drawn.isAlone) &&
      (was.choice.step === null) === (drawn.choice.step === null);
    before.current = drawn;
    made.set(drawn.chart, drawn.against, drawn.choice, colours, keeps);
    made.setTexts(
      chartWords(known),
      chartTexts(shownSim?.under ?? "none"),
      columnsFor(made.view, withFigures),
    );
    const window = wantedWindow.get();
    if (window !== null && !drawn.isAlone) {
      wantedWindow.set(null);
      made.showWindow(window.from, window.to);
    }
    const said = factsOf(drawn, made.view, shownSim);
    made.setLabel([t("chart.chart"), ...said].join(", "));
    legendBox.current?.replaceChildren(
      legend(made.view, chartWords(known), chartTexts(shownSim?.under ?? "none"), colours),
    );
    setFacts(said);
    goBack(made);
  }, [drawn, known, lang, withFigures]);

  useEffect(() => {
    if (view.current !== null && drawn !== null && known !== null) {
      view.current.setTheme(colours);
      legendBox.current?.replaceChildren(
        legend(
          view.current.view,
          chartWords(known),
          chartTexts(shownSim?.under ?? "none"),
          colours,
        ),
      );
    }
  }, [colours]);
  useEffect(() => {
    view.current?.setArrows(withArrows);
    setTimeout(() => setCloud(view.current?.tooManyArrows ?? false), 100);
  }, [withArrows, drawn]);
  useEffect(() => gotoPipeline.listen(() => view.current !== null && goBack(view.current)), []);
  useEffect(
    () =>
      register(
        commandsFor(
          () => view.current,
          () => drawnNow.current,
        ),
      ),
    [],
  );
  useEffect(
    () =>
      offerPictures(
        () => view.current,
        () => drawnNow.current,
      ),
    [],
  );

  return (
    <main class="pipeline-page">
      <header class="pl-head">
        <div class="pl-what">
          <h1>
            {drawn?.chart.title !== undefined && drawn.chart.title !== ""
              ? drawn.chart.title
              : t("tab.pipeline")}
          </h1>
          <p class="quiet">{facts.join(" · ")}</p>
        </div>
        <Controls view={view} cloud={withArrows && cloud} />
      </header>
      {busy && now === null && <Loading what={t("pipeline.loading", ranks.get().length)} />}
      {!busy && now === null && error !== null && (
        <NoChart error={error} hasSimulation={drawn !== null} />
      )}
      {drawn !== null && (
        <>
          <div class="pl-scroll" ref={scroller} aria-busy={busy}>
            <div ref={host} />
          </div>
          <div class="pl-legend">
            <div ref={legendBox} />
            <p class="quiet">{t("pipeline.hint")}</p>
          </div>
        </>
      )}
      <Bottom />
    </main>
  );
}

function NoChart({ error, hasSimulation }: { error: unknown; hasSimulation: boolean }) {
  if (!(error instanceof ApiError) || error.status !== 409) {
    return <Failed error={error} retry={() => void loadChart()} />;
  }
  return (
    <div class={hasSimulation ? "pl-none" : "pl-none tall"}>
      <Empty title={t("pipeline.nothing")}>
        <p>{sentenceOf(error)}</p>
        <ul>
          <li>{t("pipeline.collect-marks")}</li>
          <li>{t("pipeline.collect-names")}</li>
          <li>{t("pipeline.collect-simulate")}</li>
        </ul>
      </Empty>
    </div>
  );
}

/** What the page leaves for the rows: all but what stands around them, the axis and the heads of the figures. */
function roomIn(scroller: HTMLElement | null): number {
  const page = scroller?.parentElement;
  if (scroller === null || page == null || page.clientHeight === 0) {
    return Infinity;
  }
  const others = [...page.children]
    .filter((child) => child !== scroller)
    .reduce((sum, child) => sum + (child as HTMLElement).offsetHeight, 0);
  return page.clientHeight - others - 60;
}

// --- clicks, and the way to the timeline and back ----------------------------------------------------------------

function toTimeline(view: ChartView, drawn: Drawn, target: Target): void {
  const place = view.placeOf(target);
  const now = loaded.get();
  if (drawn.isAlone || now === null || isTheory(target) || place.row.rankRow < 0) {
    notify("info", t("pipeline.jump-theory"));
    return;
  }
  const transfer =
    place.op >= 0 && isTransfer(drawn.chart.labels[drawn.chart.label[place.op]].kind);
  void jump(now, place.row.rankRow, place.startNs, place.endNs, transfer);
}

function clicked(view: ChartView, drawn: Drawn, target: Target | null, keeps: boolean): void {
  view.pin(target);
  if (target !== null && !keeps && !drawn.isAlone && !isTheory(target)) {
    toTimeline(view, drawn, target);
  }
}

/** Takes what the timeline asked for, once there is a chart: another step or pipeline is chosen first, then this is called again. */
function goBack(view: ChartView): void {
  const asked = gotoPipeline.get();
  const now = loaded.get();
  if (asked === null || now === null) {
    return;
  }
  const place = placeInChart(now, asked.rank, asked.at);
  const step = place === null ? null : stepAt(now.chart, place.rankRow, place.ns);
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
    const target = view.find(place.rankRow, place.ns);
    const found = target === null ? null : view.placeOf(target);
    view.show(place.rankRow, found?.startNs ?? place.ns, found?.endNs ?? place.ns);
    view.pin(target);
    if (target === null) {
      notify("info", t("pipeline.back-none"));
    }
  });
}

// --- keys and pictures -------------------------------------------------------------------------------------------

function commandsFor(
  view: () => ChartView | null,
  drawn: () => Drawn | null,
): Parameters<typeof register>[0] {
  const isOff = (): boolean => view() === null;
  return [
    {
      id: "pipeline.zoom-in",
      word: "pipeline.zoom-in",
      keys: ["w", "+", "="],
      run: () => view()?.zoom(ZOOM_KEY),
      repeats: true,
      isOff,
    },
    {
      id: "pipeline.zoom-out",
      word: "pipeline.zoom-out",
      keys: ["s", "-"],
      run: () => view()?.zoom(1 / ZOOM_KEY),
      repeats: true,
      isOff,
    },
    {
      id: "pipeline.fit",
      word: "pipeline.fit",
      keys: ["0", "Ctrl+0"],
      run: () => view()?.fit(),
      isOff,
    },
    {
      id: "pipeline.left",
      word: "pipeline.left",
      keys: ["a", "ArrowLeft", "Shift+ArrowLeft"],
      run: () => view()?.panBy(-1 / 8),
      repeats: true,
      isOff,
    },
    {
      id: "pipeline.right",
      word: "pipeline.right",
      keys: ["d", "ArrowRight", "Shift+ArrowRight"],
      run: () => view()?.panBy(1 / 8),
      repeats: true,
      isOff,
    },
    {
      id: "pipeline.previous-step",
      word: "pipeline.previous-step",
      keys: ["["],
      run: () => stepBy(-1),
      isOff,
    },
    {
      id: "pipeline.next-step",
      word: "pipeline.next-step",
      keys: ["]"],
      run: () => stepBy(1),
      isOff,
    },
    {
      id: "pipeline.arrows",
      word: "pipeline.toggle-arrows",
      keys: ["f"],
      run: () => arrows.update((on) => !on),
      isOff,
    },
    {
      id: "pipeline.let-go",
      word: "pipeline.let-go",
      keys: ["Escape"],
      run: () => view()?.pin(null),
      isOff: () => view()?.pinned == null,
    },
    {
      id: "pipeline.follow",
      word: "pipeline.follow",
      keys: ["Enter"],
      isOff: () => view()?.pinned == null,
      run: () => {
        const v = view();
        const d = drawn();
        if (v !== null && d !== null && v.pinned !== null) {
          toTimeline(v, d, v.pinned);
        }
      },
    },
  ];
}

function offerPictures(view: () => ChartView | null, drawn: () => Drawn | null): () => void {
  return offer({
    tab: "pipeline",
    title: () => drawn()?.chart.title ?? t("tab.pipeline"),
    kinds: ["png", "svg", "json"],
    isOff: () => view() === null,
    make: async (kind) => {
      const { step, pipeline } = choice.get();
      const choose = {
        ...(step !== null ? { step } : {}),
        ...(pipeline !== null ? { pipeline } : {}),
      };
      const dark = isDark.get();
      if (kind === "png") {
        const d = drawn()!;
        const v = view()!;
        return blobOf(
          v.picture(d.chart.title, [
            factsOf(d, v.view, under.get() === "none" ? null : simulated.get()).join(" · "),
          ]),
        );
      }
      if (kind === "json") {
        return getText("chart", { ...chartParams(), format: "json" });
      }
      return loaded.get() !== null && under.get() === "none"
        ? getText("chart", { ...chartParams(), ...choose, format: "svg", dark })
        : postText("simulate", {
            ...askOf(loaded.get() === null ? "form" : under.get()),
            format: "svg",
            dark,
          });
    },
  });
}
