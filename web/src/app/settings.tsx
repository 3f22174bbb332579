/** Look, language, and every colour that means something. */
import { useAtom } from "../base/atom";
import { confusions } from "../base/colour_vision";
import { changeColour, changes, isDark, look, LOOKS, resetColours, theme } from "../model/look";
import { session } from "../model/session";
import { Dialog } from "../panels/dialog";
import { Icon } from "../panels/icons";
import { language, t, type Word } from "../words";

interface Group {
  title: Word;
  names: string[];
  texts: string[];
  colours: string[];
}

function groupsNow(): Group[] {
  const now = theme.get();
  const opened = session.get();
  const of = (
    list: "kinds" | "phases" | "lanes" | "tints",
    title: Word,
    texts: string[],
  ): Group => ({
    title,
    texts,
    names: texts.map((_, i) => `${list}.${i}`),
    colours: texts.map((_, i) => now[list][i] ?? "#808080"),
  });
  return [
    of("lanes", "settings.lanes", [
      t("lane.computing"),
      t("lane.communication"),
      t("lane.exposed"),
      t("lane.free"),
    ]),
    of(
      "kinds",
      "settings.kinds",
      (opened?.kinds ?? []).map(([name, text]) =>
        text === "" || text.toLowerCase() === name.toLowerCase() ? name : `${name} ${text}`,
      ),
    ),
    of("phases", "settings.phases", opened?.phases ?? []),
    of(
      "tints",
      "settings.tints",
      now.tints.map((_, i) => String(i + 1)),
    ),
    {
      title: "settings.accent",
      names: ["accent"],
      texts: [t("settings.accent-what")],
      colours: [now.accent],
    },
  ];
}

export function SettingsDialog({ onClose }: { onClose: () => void }) {
  useAtom(theme);
  const at = useAtom(look);
  const lang = useAtom(language);
  const dark = useAtom(isDark);
  const changed = useAtom(changes)[dark ? "dark" : "light"];
  const all = useAtom(changes);
  const nChanged = Object.keys(all.light).length + Object.keys(all.dark).length;
  return (
    <Dialog title={t("command.settings")} onClose={onClose} wide>
      <div class="stacked">
        <div class="settings-row">
          <span>{t("settings.look")}</span>
          <span class="group">
            {LOOKS.map((name) => (
              <button type="button" aria-pressed={name === at} onClick={() => look.set(name)}>
                {t(`look.${name}`)}
              </button>
            ))}
          </span>
          <span>{t("settings.language")}</span>
          <span class="group">
            {(["en", "zh"] as const).map((name) => (
              <button
                type="button"
                lang={name}
                aria-pressed={name === lang}
                onClick={() => language.set(name)}
              >
                {name === "en" ? "English" : "中文"}
              </button>
            ))}
          </span>
          <span class="fill" />
          <button type="button" disabled={nChanged === 0} onClick={resetColours}>
            <Icon name="reset" />
            {t("settings.reset-all")}
          </button>
        </div>
        <p class="quiet">{t("settings.vision")}</p>
        {groupsNow().map((group) => (
          <section class="stacked">
            <h3>{t(group.title)}</h3>
            <div class="colours">
              {group.names.map((name, i) => (
                <div class="colour" key={name}>
                  <input
                    type="color"
                    id={`colour-${name}`}
                    value={group.colours[i].toLowerCase()}
                    onInput={(e) => changeColour(name, e.currentTarget.value)}
                  />
                  <label for={`colour-${name}`}>{group.texts[i]}</label>
                  {changed[name] !== undefined && (
                    <button
                      type="button"
                      class="flat tiny"
                      aria-label={t("settings.reset")}
                      title={t("settings.reset")}
                      onClick={() => changeColour(name, null)}
                    >
                      <Icon name="reset" />
                    </button>
                  )}
                </div>
              ))}
            </div>
            {group.title !== "settings.tints" &&
              group.names.some((name) => changed[name] !== undefined) && <Warnings group={group} />}
          </section>
        ))}
      </div>
    </Dialog>
  );
}

/** Pairs that became alike. */
function Warnings({ group }: { group: Group }) {
  const found = confusions(group.colours);
  return found.length === 0 ? (
    <p class="quiet">{t("settings.apart")}</p>
  ) : (
    <>
      {found.slice(0, 6).map((c) => (
        <p class="bad">{t(`settings.alike-${c.vision}`, group.texts[c.a], group.texts[c.b])}</p>
      ))}
    </>
  );
}
