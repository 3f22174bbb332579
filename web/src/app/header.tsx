/** The line at the top: what is open, how much of it is there, the pages, and the buttons. */
import { useEffect, useRef } from "preact/hooks";
import { useAtom } from "../base/atom";
import { exports_, saveAs, type Export, type ExportKind } from "../model/exports";
import { openCaptures } from "../model/captures";
import { look, LOOKS } from "../model/look";
import { loadingOf, loadingOfEach, missingOf, odditiesOf, type Loading } from "../model/notes";
import { fail, notices } from "../model/notices";
import { ranks, session, tab } from "../model/session";
import { Menu } from "../panels/dialog";
import { Icon } from "../panels/icons";
import { language, t } from "../words";
import { over } from "./over";
import { tabsShown } from "./tabs";

const LOOK_ICON = { system: "screen", light: "sun", dark: "moon" } as const;

export function Header({ bare }: { bare?: boolean }) {
  const at = useAtom(look);
  const lang = useAtom(language);
  return (
    <header class="top">
      <b class="brand">pipescope</b>
      {bare === true ? <span class="fill" /> : <Opened />}
      {bare !== true && (
        <IconButton
          name="bookmark"
          label={`${t("command.views")} (V)`}
          run={() => over.set("views")}
        />
      )}
      {bare !== true && <ExportMenu />}
      {bare !== true && <Bell />}
      <Menu label={t("command.look")} icon={LOOK_ICON[at]}>
        {(close) =>
          LOOKS.map((name) => (
            <button
              type="button"
              class="menu-item"
              role="menuitemradio"
              aria-checked={name === at}
              onClick={() => (look.set(name), close())}
            >
              <Icon name={LOOK_ICON[name]} />
              {t(`look.${name}`)}
            </button>
          ))
        }
      </Menu>
      <button
        type="button"
        class="flat lang"
        aria-label={t("command.language")}
        title={t("command.language")}
        onClick={() => language.set(lang === "en" ? "zh" : "en")}
      >
        {lang === "en" ? "中" : "EN"}
      </button>
      {bare !== true && (
        <>
          <IconButton
            name="command"
            label={`${t("command.palette")} (Ctrl+K)`}
            run={() => over.set("palette")}
          />
          <IconButton
            name="settings"
            label={t("command.settings")}
            run={() => over.set("settings")}
          />
          <IconButton name="help" label={`${t("command.help")} (?)`} run={() => over.set("help")} />
        </>
      )}
    </header>
  );
}

function IconButton({
  name,
  label,
  run,
}: {
  name: Parameters<typeof Icon>[0]["name"];
  label: string;
  run: () => void;
}) {
  return (
    <button type="button" class="flat" aria-label={label} title={label} onClick={run}>
      <Icon name={name} />
    </button>
  );
}

/** Where there is no room for the whole name: its beginning, and these last letters, which tell names apart. */
const TOLD_APART = 8;

/** Captures that have a count of their own in the line; of more there is but the number on hover. */
const COUNTED_APART = 2;

/** "8 of 8 ranks", "16 of 64 ranks read"; of several captures "8 + 3 of 8 ranks", in their order. */
function ranksOf(each: readonly Loading[]): string {
  const total = each.reduce((sum, c) => [sum[0] + c.ready, sum[1] + c.n], [0, 0]);
  return each.length > 1 && each.length <= COUNTED_APART
    ? t(
        "frame.ranks-each",
        each.map((c) => (c.ready === c.n ? String(c.n) : t("frame.of", c.ready, c.n))).join(" + "),
      )
    : t(total[0] < total[1] ? "frame.ranks-read" : "frame.ranks", ...total);
}

function Opened() {
  const shown = useAtom(tab);
  const known = useAtom(ranks);
  const opened = useAtom(session)!;
  const loading = loadingOf(known);
  const each = loadingOfEach(opened, known);
  const paths = openCaptures(opened).map(([, path]) => path);
  const title = opened.title !== "" ? opened.title : (paths[0] ?? "");
  const tabs = tabsShown(known.length, shown);
  const pages = useRef<HTMLElement>(null);
  useEffect(() => {
    const room = new ResizeObserver(() =>
      document
        .getElementById(`tab-${shown}`)
        ?.scrollIntoView({ inline: "nearest", block: "nearest" }),
    );
    room.observe(pages.current!);
    return () => room.disconnect();
  }, [shown, tabs.length]);
  const move = (e: KeyboardEvent): void => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (step !== 0) {
      e.preventDefault();
      e.stopPropagation();
      const next = tabs[(tabs.indexOf(shown) + step + tabs.length) % tabs.length];
      tab.set(next);
      document.getElementById(`tab-${next}`)?.focus();
    }
  };
  return (
    <>
      <button
        type="button"
        class={title.length > TOLD_APART ? "flat opened long-name" : "flat opened"}
        aria-label={title}
        title={paths.join("\n")}
        onClick={() => over.set("capture")}
      >
        <span class="opened-title">{title.slice(0, -TOLD_APART)}</span>
        <span class="opened-end">{title.slice(-TOLD_APART)}</span>
      </button>
      <button
        type="button"
        class="flat chip"
        title={[
          t("command.capture"),
          ...(loading.ready < loading.n ? [t("frame.ranks-what")] : []),
          ...(each.length > 1 ? each.map((c) => `${c.name}: ${ranksOf([c])}`) : []),
        ].join("\n")}
        onClick={() => over.set("capture")}
      >
        {ranksOf(each)}
        {loading.failed > 0 && <span class="bad">{t("frame.failed", loading.failed)}</span>}
        {loading.active > 0 && (
          <span
            class="progress"
            role="progressbar"
            aria-label={t("frame.loading")}
            aria-valuenow={Math.round(loading.progress * 100)}
            aria-valuemin={0}
            aria-valuemax={100}
          >
            <i style={{ width: `${loading.progress * 100}%` }} />
          </span>
        )}
      </button>
      <nav ref={pages} class="tabs" role="tablist" aria-label={t("frame.pages")} onKeyDown={move}>
        {tabs.map((name) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={name === shown}
            aria-controls={`page-${name}`}
            tabIndex={name === shown ? 0 : -1}
            onClick={() => tab.set(name)}
          >
            {t(`tab.${name}`)}
          </button>
        ))}
      </nav>
      <span class="fill" />
    </>
  );
}

function Bell() {
  const said = useAtom(notices).filter((n) => n.severity === "error").length;
  const known = useAtom(ranks);
  const n = said + missingOf(known).length + odditiesOf(known, session.get()).length;
  const label = n === 0 ? t("command.notes") : t("frame.notes-n", n);
  return (
    <button
      type="button"
      class="flat bell"
      aria-label={label}
      title={label}
      onClick={() => over.set("notes")}
    >
      <Icon name="bell" />
      {n > 0 && (
        <span class={said > 0 ? "bell-count bad-ground" : "bell-count"}>{n > 99 ? "99+" : n}</span>
      )}
    </button>
  );
}

async function save(what: Export, kind: ExportKind): Promise<void> {
  try {
    saveAs((what.fileName ?? what.title)(), kind, await what.make(kind));
  } catch (error) {
    fail(error);
  }
}

function ExportMenu() {
  const all = useAtom(exports_);
  const shown = useAtom(tab);
  return (
    <Menu label={t("frame.export")} icon="save">
      {(close) => {
        const now = all.filter((e) => e.tab === shown && !(e.isOff?.() ?? false));
        return now.length === 0 ? (
          <p class="menu-head">{t("frame.nothing-to-save")}</p>
        ) : (
          now.map((what) => (
            <div class="menu-line">
              <span class="menu-name" title={what.title()}>
                {what.title()}
              </span>
              {what.kinds.map((kind) => (
                <button type="button" onClick={() => (void save(what, kind), close())}>
                  {kind.toUpperCase()}
                </button>
              ))}
            </div>
          ))
        );
      }}
    </Menu>
  );
}
