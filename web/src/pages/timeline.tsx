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
import { language, t } from "../words";

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
  return (
    <main class="page page-timeline">
      <TimelineTools />
      <TimelineView />
      <BottomPanel />
    </main>
  );
}
