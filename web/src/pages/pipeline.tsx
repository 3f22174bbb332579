/** The Pipeline page: the chart of the job's pipelines, figures beside its rows, and below it tables and the simulation. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hasNothing } from "../api/client";
import { register } from "../model/commands";
import { registerUrl, urlChanged } from "../model/url_state";
import { useAtom } from "../base/atom";
import { theme } from "../model/look";
import { gotoPipeline, ranks, session } from "../model/session";
import { sentenceOf } from "../model/notices";
import { ChartView } from "../pipeline/chart_view";
import type { Chart } from "../pipeline/model";
import { legend } from "../pipeline/panels";
import { Empty, Failed, Loading } from "../panels/empty";
import { language, t } from "../words";
import { Bottom } from "./pipeline_bottom";
import { offerPictures, pipelineCommands, type OnPage } from "./pipeline_commands";
import { Controls } from "./pipeline_controls";
import { columnsFor, factsOf, NARROW_PX } from "./pipeline_figures";
import { cluster, job } from "./job_state";
import {
  arrows,
  path,
  choice,
  drawnOf,
  failure,
  figures,
  follow,
  form,
  isLoading,
  loadChart,
  loaded,
  panel,
  readState,
  refusal,
  simulated,
  under,
  wantedPin,
  wantedWindow,
  writeState,
  type Choice,
  type Drawn,
  type Simulated,
} from "./pipeline_state";
import { ranksIn } from "./ready_rank";
import { clicked, goBack } from "./pipeline_travel";
import { chartTexts, chartWords } from "./pipeline_words";
import "../pipeline/chart.css";
import "./pipeline.css";

interface Ref<T> {
  current: T;
}

/** Where the chart goes, and what is on the page now. */
interface Frame {
  host: Ref<HTMLDivElement | null>;
  scroller: Ref<HTMLDivElement | null>;
  legend: Ref<HTMLDivElement | null>;
  view: Ref<ChartView | null>;
  drawn: Ref<Drawn | null>;
}

function useFrame(drawn: Drawn | null): Frame {
  const frame = {
    host: useRef<HTMLDivElement>(null),
    scroller: useRef<HTMLDivElement>(null),
    legend: useRef<HTMLDivElement>(null),
    view: useRef<ChartView | null>(null),
    drawn: useRef<Drawn | null>(null),
  };
  frame.drawn.current = drawn;
  return frame;
}

export function PipelinePage() {
  const now = useAtom(loaded);
  const sim = useAtom(simulated);
  const chosen = useAtom(choice);
  const busy = useAtom(isLoading);
  const error = useAtom(failure);
  const below = useAtom(under);
  const withArrows = useAtom(arrows);
  useAtom(refusal);
  useAtom(language);
  const shownSim = below === "none" && now !== null ? null : sim;
  const drawn = useMemo(() => drawnOf(now, shownSim, chosen), [now, shownSim, chosen]);
  const frame = useFrame(drawn);
  useAddress(frame);
  const [cloud, setCloud] = useChartView(frame, drawn);
  const facts = useShown(frame, drawn, shownSim);
  useArrows(frame, drawn, setCloud);
  useCommands(frame);
  return (
    <main class="pipeline-page">
      <header class="pl-head">
        <h1>{titleOf(drawn)}</h1>
        <Controls view={frame.view} cloud={withArrows && cloud} />
        <div class="pl-what">
          <p class="quiet">{facts.join(" · ")}</p>
          <Notes of={drawn?.chart.notes ?? []} />
        </div>
      </header>
      {busy && now === null && (
        <Loading what={t("pipeline.loading", ranksIn(ranks.get(), cluster.get()).length)} />
      )}
      {!busy && now === null && error !== null && (
        <NoChart error={error} hasSimulation={drawn !== null} />
      )}
      {drawn !== null && (
        <>
          <div class="pl-scroll" ref={frame.scroller} aria-busy={busy}>
            <div ref={frame.host} />
          </div>
          <div class="pl-legend">
            <div ref={frame.legend} />
            <p class="quiet">{t("pipeline.hint")}</p>
          </div>
        </>
      )}
      <Bottom />
    </main>
  );
}

/** What else is to be known of the ops: on hover, and a click keeps it in sight. */
function Notes({ of }: { of: string[] }) {
  return of.length === 0 ? null : (
    <details class="pl-notes">
      <summary title={of.join("\n")}>{t("pipeline.notes", of.length)}</summary>
      <ul>
        {of.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </details>
  );
}

/** A schedule that was simulated without a capture of one is an example: it does not name the page. */
const titleOf = (drawn: Drawn | null): string =>
  drawn === null || drawn.isAlone || drawn.chart.title === ""
    ? t("tab.pipeline")
    : drawn.chart.title;

/** The address has what is looked at; the chart is asked for. */
function useAddress({ view }: Frame): void {
  useEffect(() => {
    const stop = registerUrl({
      prefix: "pp",
      read: () =>
        readState(
          view.current?.window ?? wantedWindow.get(),
          view.current?.pinnedText ?? wantedPin.get(),
        ),
      write: writeState,
    });
    follow();
    const stops = [under, choice, arrows, path, figures, form, job, cluster, panel].map((atom) =>
      atom.listen(urlChanged),
    );
    return () => (stop(), stops.forEach((s) => s()));
  }, []);
}

/** A chart in its place, as long as there is something to draw. Gives whether more arrows are in sight than anybody could follow. */
function useChartView(
  { host, scroller, view, drawn: now }: Frame,
  drawn: Drawn | null,
): [boolean, (cloud: boolean) => void] {
  const known = useAtom(session);
  const [cloud, setCloud] = useState(false);
  useEffect(() => {
    if (host.current === null || scroller.current === null || known === null || drawn === null) {
      return undefined;
    }
    const made: ChartView = new ChartView(host.current, {
      words: chartWords(known),
      texts: chartTexts(under.get(), drawn.isAlone),
      shapes: known.shapes,
      scroller: scroller.current,
      zoomsOnDouble: false,
      columns: columnsFor(null, figures.get(), innerWidth < NARROW_PX),
      room: () => roomIn(scroller.current),
      onClick: (target, event) =>
        clicked(made, now.current!, target, event.shiftKey || event.ctrlKey || event.metaKey),
      onMoved: () => (urlChanged(), setCloud(made.tooManyArrows)),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [known, drawn === null]);
  return [cloud, setCloud];
}

/** What the view was last given: the window stays where the next is of the same kind. */
interface Before {
  view: ChartView;
  chart: Chart;
  choice: Choice;
}

function useNarrow(): boolean {
  const [isNarrow, set] = useState(innerWidth < NARROW_PX);
  useEffect(() => {
    const look = (): void => set(innerWidth < NARROW_PX);
    addEventListener("resize", look);
    return () => removeEventListener("resize", look);
  }, []);
  return isNarrow;
}

/** Shows what is drawn; gives the facts that are said of it. */
function useShown(frame: Frame, drawn: Drawn | null, sim: Simulated | null): string[] {
  const known = useAtom(session);
  const colours = useAtom(theme);
  const withFigures = useAtom(figures);
  const isNarrow = useNarrow();
  const lang = useAtom(language);
  const [facts, setFacts] = useState<string[]>([]);
  const before = useRef<Before | null>(null);
  const { view } = frame;
  const showLegend = (made: ChartView): void =>
    frame.legend.current?.replaceChildren(
      legend(
        drawn!.chart,
        drawn!.against,
        made.view,
        chartWords(known!),
        chartTexts(sim?.under ?? "none", drawn?.isAlone),
        colours,
        known!.shapes,
      ),
    );
  useEffect(() => {
    const made = view.current;
    if (made === null || drawn === null || known === null) {
      return;
    }
    made.set(
      drawn.chart,
      drawn.against,
      drawn.choice,
      colours,
      keepsWindow(before.current, made, drawn),
    );
    before.current = { view: made, chart: drawn.chart, choice: drawn.choice };
    made.setTexts(
      chartWords(known),
      chartTexts(sim?.under ?? "none", drawn?.isAlone),
      columnsFor(made.view, withFigures, isNarrow),
    );
    takeWanted(made, drawn);
    const said = factsOf(drawn, made.view, sim);
    made.setLabel([t("chart.chart"), ...said, ...drawn.chart.notes].join(", "));
    showLegend(made);
    setFacts(said);
    goBack(made);
  }, [drawn, known, lang, withFigures, isNarrow]);
  useEffect(() => {
    if (view.current !== null && drawn !== null && known !== null) {
      view.current.setTheme(colours);
      showLegend(view.current);
    }
  }, [colours]);
  return facts;
}

/** Another step, pipeline or simulation is looked at through the same window, so that they can be compared. */
function keepsWindow(was: Before | null, view: ChartView, drawn: Drawn): boolean {
  return (
    was?.view === view &&
    (was.chart === drawn.chart || drawn.isAlone) &&
    (was.choice.step === null) === (drawn.choice.step === null)
  );
}

/** The window and the block that the address asked for, once. */
function takeWanted(view: ChartView, drawn: Drawn): void {
  const window = wantedWindow.get();
  if (window !== null && !drawn.isAlone) {
    wantedWindow.set(null);
    view.showWindow(window.from, window.to);
  }
  const lit = wantedPin.get();
  if (lit !== null && !drawn.isAlone) {
    // One that lies below comes later than the chart.
    const isHere = lit === "" || view.pinText(lit) || drawn.against !== null;
    if (lit === "" && view.pinned !== null) {
      view.pin(null);
    }
    wantedPin.set(isHere || !lit.startsWith("theory") ? null : lit);
  }
}

function useArrows({ view }: Frame, drawn: Drawn | null, setCloud: (on: boolean) => void): void {
  const withArrows = useAtom(arrows);
  const withPath = useAtom(path);
  useEffect(() => {
    view.current?.setArrows(withArrows);
    view.current?.setPath(withPath);
    setTimeout(() => setCloud(view.current?.tooManyArrows ?? false), 100);
  }, [withArrows, withPath, drawn]);
}

function useCommands({ view, drawn }: Frame): void {
  const page: OnPage = { view: () => view.current, drawn: () => drawn.current };
  useEffect(() => gotoPipeline.listen(() => view.current !== null && goBack(view.current)), []);
  useEffect(() => register(pipelineCommands(page)), []);
  useEffect(() => offerPictures(page), []);
}

function NoChart({ error, hasSimulation }: { error: unknown; hasSimulation: boolean }) {
  if (!hasNothing(error)) {
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
