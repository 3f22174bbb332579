/** The Timeline page: tools, the timeline, and the panel below it. What it looks at stands in the address; what it shows can be
 * saved as a picture. */
import { useEffect, useState } from "preact/hooks";
import { registerUrl, urlChanged } from "../model/url_state";
import { useAtom } from "../base/atom";
import { offer } from "../model/exports";
import { applyTimelineState, listenTimelineState, timelineState } from "../model/view_state";
import { BottomPanel } from "../panels/bottom";
import { TimelineTools } from "../panels/tools";
import { exportTimeline } from "../timeline/export";
import { TimelineView } from "../timeline/view";
import { ranks, session } from "../model/session";
import { pipelineRows, pipelineRowsOf, pipelineShown } from "../model/pipeline_rows";
import { language, t } from "../words";
import { openCaptures } from "../model/captures";
import { cluster } from "./job_state";
import { chartOf, choice, follow, loaded, type Loaded } from "./pipeline_state";
import { chartTexts, chartWords } from "./pipeline_words";

/** What it looked at when it was left. The atoms still hold that: to look at it anew would undo what another page asked for. */
let left = "";

export function TimelinePage() {
  useAtom(language);
  useEffect(() => {
    const stops = [
      registerUrl({
        prefix: "tl",
        read: timelineState,
        write: (state) => JSON.stringify(state) !== left && applyTimelineState(state),
      }),
      listenTimelineState(urlChanged),
      offer({
        tab: "timeline",
        title: () => t("tab.timeline"),
        kinds: ["png", "svg"],
        make: (kind) => exportTimeline(kind === "svg" ? "svg" : "png"),
      }),
    ];
    return () => {
      left = JSON.stringify(timelineState());
      stops.forEach((stop) => stop());
    };
  }, []);
  usePipeline();
  return (
    <main class="page page-timeline">
      <TimelineTools />
      <TimelineView />
      <BottomPanel />
    </main>
  );
}

/** Larger captures have their pipelines here once the Pipeline page has been open. */
const MOST_SLICES = 2e6;

/** Pipelines above the lanes: of the chart, which is asked for when all that is read has been read. */
function usePipeline(): void {
  const now = useAtom(loaded);
  const known = useAtom(session);
  const all = useAtom(ranks);
  const isShown = useAtom(pipelineShown);
  const { byPhase } = useAtom(choice);
  const spoken = useAtom(language);
  const isRead =
    all.some((r) => r.state === "ready") &&
    all.every((r) => r.state !== "queued" && r.state !== "reading") &&
    all.reduce((n, r) => n + (r.slices ?? 0), 0) <= MOST_SLICES;
  useEffect(() => {
    if (isRead && isShown) {
      follow();
    }
  }, [isRead, isShown]);
  const others = useOtherCharts(isRead && isShown);
  useEffect(() => {
    const charts = [...(now === null ? [] : [now]), ...others];
    pipelineRows.set(
      known === null
        ? []
        : charts.map(({ chart, places }) =>
            pipelineRowsOf(chart, places, byPhase, {
              shapes: known.shapes,
              words: chartWords(known),
              texts: chartTexts("none"),
            }),
          ),
    );
  }, [now, others, known, byPhase, spoken]);
}

/** What was asked for of other captures, by number; null: it has no pipeline. */
const otherCharts = new Map<string, Promise<Pick<Loaded, "chart" | "places"> | null>>();

/** Charts of the captures that the Pipeline page does not look at: a baseline stands on the same clock with its own. */
function useOtherCharts(isWanted: boolean): readonly Pick<Loaded, "chart" | "places">[] {
  const known = useAtom(session);
  const looked = useAtom(cluster);
  const [charts, setCharts] = useState<readonly Pick<Loaded, "chart" | "places">[]>([]);
  const wanted = isWanted ? openCaptures(known).filter(([i]) => i !== looked) : [];
  const key = JSON.stringify(wanted);
  useEffect(() => {
    let isCurrent = true;
    const asked = wanted.map(([i, path]) => {
      const id = `${i} ${path}`;
      const chart = otherCharts.get(id) ?? chartOf(i).catch(() => null);
      otherCharts.set(id, chart);
      return chart;
    });
    void Promise.all(asked).then((found) => {
      if (isCurrent) {
        setCharts(found.filter((chart) => chart !== null));
      }
    });
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return charts;
}
