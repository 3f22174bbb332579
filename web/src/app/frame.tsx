/** The frame around the pages: header, the pages themselves (each made when it is first looked at, then kept), the line below,
 * and what lies over them. */
import { Component, type ComponentChild, type ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useAtom } from "../base/atom";
import { isDark, look } from "../model/look";
import { connection, loadAll, ranks, session, tab, TABS, type Tab } from "../model/session";
import { BOTTOM_TABS, openPanel } from "../model/timeline";
import { fail } from "../model/notices";
import { CallsPage } from "../pages/calls";
import { CommunicationPage } from "../pages/communication";
import { ComparePage } from "../pages/compare";
import { MemoryPage } from "../pages/memory";
import { OperatorPage } from "../pages/operator";
import { PipelinePage } from "../pages/pipeline";
import { QueryPage } from "../pages/query";
import { SummaryPage } from "../pages/summary";
import { TimelinePage } from "../pages/timeline";
import { WhatIfPage } from "../pages/whatif";
import { Empty } from "../panels/empty";
import { language, t } from "../words";
import { copyAddress } from "./copy";
import { CaptureDialog, NotesDialog } from "./capture";
import { register } from "../model/commands";
import { Gate } from "./gate";
import { takeDrops } from "./captures";
import { Header } from "./header";
import { HelpDialog } from "./help";
import { showFocusHint } from "./focus_hint";
import { over } from "./over";
import { Palette } from "./palette";
import { SettingsDialog } from "./settings";
import { StatusLine } from "./status_line";
import { tabsShown } from "./tabs";
import { Toasts } from "./toasts";
import { ViewsDialog } from "./views";
import { addressNow } from "../model/url_state";

const PAGES: Record<Tab, () => ComponentChild> = {
  timeline: () => <TimelinePage />,
  pipeline: () => <PipelinePage />,
  summary: () => <SummaryPage />,
  operator: () => <OperatorPage />,
  calls: () => <CallsPage />,
  memory: () => <MemoryPage />,
  communication: () => <CommunicationPage />,
  whatif: () => <WhatIfPage />,
  compare: () => <ComparePage />,
  query: () => <QueryPage />,
};

/** What is seen changes each time, also where the system chose it. */
const nextLook = (): void => look.set(isDark.get() ? "light" : "dark");

function registerCommands(): () => void {
  return register([
    { id: "frame.help", word: "command.help", keys: ["?", "F1"], run: () => over.set("help") },
    {
      id: "frame.hint",
      word: "command.hint",
      keys: ["Shift+F1"],
      run: showFocusHint,
      inFields: true,
    },
    {
      id: "frame.palette",
      word: "command.palette",
      keys: ["Ctrl+K"],
      run: () => over.set("palette"),
    },
    ...TABS.map((name, i) => ({
      id: `frame.tab-${name}`,
      word: `command.tab-${name}` as const,
      keys: i < 9 ? [String(i + 1)] : [],
      run: () => tab.set(name),
      isOff: () => !tabsShown(ranks.get().length, tab.get()).includes(name),
      needs: "palette.needs-captures" as const,
    })),
    ...BOTTOM_TABS.map((name) => ({
      id: `frame.panel-${name}`,
      word: `bottom.${name}` as const,
      keys: [],
      run: () => {
        tab.set("timeline"); // which has the panel
        openPanel(name);
      },
    })),
    { id: "frame.look", word: "command.look", keys: ["Shift+D"], run: nextLook },
    {
      id: "frame.language",
      word: "command.language",
      keys: [],
      run: () => language.set(language.get() === "en" ? "zh" : "en"),
    },
    { id: "frame.settings", word: "command.settings", keys: [], run: () => over.set("settings") },
    { id: "frame.capture", word: "command.capture", keys: [], run: () => over.set("capture") },
    { id: "frame.notes", word: "command.notes", keys: [], run: () => over.set("notes") },
    { id: "frame.views", word: "command.views", keys: ["v"], run: () => over.set("views") },
    {
      id: "frame.load-all",
      word: "command.load-all",
      keys: [],
      run: () => void loadAll().catch(fail),
      isOff: () => !ranks.get().some((r) => r.state === "waiting"),
      needs: "palette.needs-waiting",
    },
    {
      id: "frame.copy-address",
      word: "command.copy-address",
      keys: [],
      run: () => void copyAddress(addressNow()),
    },
  ]);
}

export function Frame() {
  const shown = useAtom(tab);
  const state = useAtom(connection);
  const open = useAtom(over);
  const opened = useAtom(session) !== null;
  useAtom(language);
  const visited = useRef(new Set<Tab>());
  visited.current.add(shown);
  useEffect(registerCommands, []);
  useEffect(takeDrops, []);
  useFocus(shown);
  const { title } = session.get() ?? { title: "" };
  useEffect(() => {
    document.title = title === "" ? "pipescope" : `${t(`tab.${shown}`)} · ${title} · pipescope`;
  });
  if (!opened || state === "no-token") {
    return (
      <>
        <Header bare />
        <Gate state={state} />
      </>
    );
  }
  const close = (): void => over.set(null);
  return (
    <>
      <button type="button" class="skip" onClick={() => enterPage(shown, true)}>
        {t(shown === "timeline" ? "frame.skip-lanes" : "frame.skip")}
      </button>
      <Header />
      {TABS.filter((name) => visited.current.has(name)).map((name) => (
        <div
          key={name}
          class="page-slot"
          id={`page-${name}`}
          role="tabpanel"
          aria-labelledby={`tab-${name}`}
          hidden={name !== shown}
        >
          <Guard>{PAGES[name]()}</Guard>
        </div>
      ))}
      <StatusLine />
      <Toasts />
      {open === "help" && <HelpDialog onClose={close} />}
      {open === "palette" && <Palette onClose={close} />}
      {open === "settings" && <SettingsDialog onClose={close} />}
      {open === "capture" && <CaptureDialog onClose={close} />}
      {open === "notes" && <NotesDialog onClose={close} />}
      {open === "views" && <ViewsDialog onClose={close} />}
    </>
  );
}

/** Into a page, past the head above it: its lanes or its chart, else the page as a whole. `isFirst`: the lane that keys begin with. */
function enterPage(shown: Tab, isFirst = false): void {
  const page = document.getElementById(`page-${shown}`);
  const lane = isFirst ? page?.querySelector<HTMLElement>(".tl-tree [tabindex='0']") : null;
  const main = page?.querySelector<HTMLElement>("main");
  if (main != null) {
    main.tabIndex = -1;
  }
  (lane ?? page?.querySelector<HTMLElement>("[data-focus]") ?? main)?.focus({
    preventScroll: true,
  });
}

/** What had the focus is out of sight on another page: keys go on in the one that is shown. */
function useFocus(shown: Tab): void {
  const before = useRef(shown);
  useEffect(() => {
    const now = document.activeElement;
    if (before.current !== shown && (now === document.body || now?.closest("[hidden]") != null)) {
      enterPage(shown);
    }
    before.current = shown;
  }, [shown]);
}

/** A page that fails says so and leaves the others alone. */
class Guard extends Component<{ children: ComponentChildren }, { error: Error | null }> {
  override state = { error: null as Error | null };

  override componentDidCatch(error: Error): void {
    console.error(error);
    this.setState({ error });
  }

  override render() {
    const { error } = this.state;
    return error === null ? (
      this.props.children
    ) : (
      <Empty title={t("frame.page-failed")}>
        <p class="quiet mono">{error.message}</p>
        <button type="button" onClick={() => this.setState({ error: null })}>
          {t("frame.retry")}
        </button>
      </Empty>
    );
  }
}
