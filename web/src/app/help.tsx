/** Every command with its keys, by page, and what the mouse does. */
import { TABS, tab } from "../model/session";
import { Dialog } from "../panels/dialog";
import { t, type Word } from "../words";
import { commands, pageOf, type Command } from "../model/commands";
import { GESTURES } from "./gestures";

const SHOWN: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  Space: "␣",
};

export function Keys({ keys }: { keys: string[] }) {
  return (
    <span class="keys">
      {keys.map((key, i) => (
        <>
          {i > 0 && <span class="quiet"> {t("help.or")} </span>}
          {key.split(/(?<=.)\+(?=.)/).map((part) => (
            <kbd>{SHOWN[part] ?? (part.length === 1 ? part.toUpperCase() : part)}</kbd>
          ))}
        </>
      ))}
    </span>
  );
}

export function HelpDialog({ onClose }: { onClose: () => void }) {
  const by = new Map<string, Command[]>();
  for (const command of commands()) {
    const page = pageOf(command);
    const known = by.get(page) ?? by.set(page, []).get(page)!;
    if (!known.some((c) => c.id === command.id)) {
      known.push(command);
    }
  }
  const here = tab.get();
  const groups = [here, "frame", ...TABS.filter((name) => name !== here)];
  return (
    <Dialog title={t("command.help")} onClose={onClose} wide>
      <div class="help">
        {groups.map((group) => {
          const own = by.get(group) ?? [];
          const moves = GESTURES.filter((g) => g.on === group);
          return own.length + moves.length === 0 ? null : (
            <section data-group={group}>
              <h3>
                {group === "frame"
                  ? t("help.everywhere")
                  : t(`tab.${group as (typeof TABS)[number]}`)}
              </h3>
              <dl>
                {own.map((command) => (
                  <Line key={command.id} id={command.id} what={command.word}>
                    <Keys keys={command.keys} />
                  </Line>
                ))}
                {moves.map((g) => (
                  <Line key={g.what} what={g.what}>
                    <span class="gesture">{t(g.how)}</span>
                  </Line>
                ))}
              </dl>
            </section>
          );
        })}
      </div>
    </Dialog>
  );
}

function Line({
  what,
  id,
  children,
}: {
  what: Word;
  id?: string;
  children: preact.ComponentChildren;
}) {
  return (
    <div class="help-line" data-command={id}>
      <dt>{t(what)}</dt>
      <dd>{children}</dd>
    </div>
  );
}
