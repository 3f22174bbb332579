/** The frame around the pages: tabs, theme, language. */
import type { ComponentChild } from "preact";
import { useAtom } from "../base/atom";
import { tab, TABS, type Tab } from "../model/session";
import { CommunicationPage } from "../pages/communication";
import { MemoryPage } from "../pages/memory";
import { OperatorPage } from "../pages/operator";
import { PipelinePage } from "../pages/pipeline";
import { SummaryPage } from "../pages/summary";
import { TimelinePage } from "../pages/timeline";
import { language, t } from "../words";

const PAGES: Record<Tab, () => ComponentChild> = {
  timeline: () => <TimelinePage />,
  pipeline: () => <PipelinePage />,
  summary: () => <SummaryPage />,
  operator: () => <OperatorPage />,
  memory: () => <MemoryPage />,
  communication: () => <CommunicationPage />,
};

export function Frame() {
  const shown = useAtom(tab);
  useAtom(language);
  return (
    <>
      <nav class="tabs">
        {TABS.map((name) => (
          <button type="button" aria-current={name === shown ? "page" : undefined} onClick={() => tab.set(name)}>{t(`tab.${name}`)}</button>
        ))}
      </nav>
      {PAGES[shown]()}
    </>
  );
}
