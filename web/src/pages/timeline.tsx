/** The Timeline page: tools, the timeline, and the panel below it. What it looks at stands in the address; what it shows can be
 * saved as a picture. */
import { useEffect } from "preact/hooks";
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
import { choice, follow, loaded } from "./pipeline_state";
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
  useEffect(() => {
    pipelineRows.set(
      now === null || known === null
        ? null
        : pipelineRowsOf(now.chart, now.places, byPhase, {
            shapes: known.shapes,
            words: chartWords(known),
            texts: chartTexts("none"),
          }),
    );
  }, [now, known, byPhase, spoken]);
}
