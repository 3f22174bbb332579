/** The Timeline page: tools, the timeline, and the panel below it. */
import { useAtom } from "../base/atom";
import { BottomPanel } from "../panels/bottom";
import { TimelineTools } from "../panels/tools";
import { TimelineView } from "../timeline/view";
import { language } from "../words";

export function TimelinePage() {
  useAtom(language);
  return (
    <main class="page page-timeline">
      <TimelineTools />
      <TimelineView />
      <BottomPanel />
    </main>
  );
}
