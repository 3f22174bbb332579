/** Everything a user can do, in one list: keys, the palette (Ctrl+K) and the help (?) are made of it. A page registers its
 * commands while it is shown. */
import { notify } from "./notices";
import { tab, TABS } from "./session";
import { t, type Word } from "../words";

export interface Command {
  /** "timeline.zoom-in": what begins with the name of a page is of that page alone. */
  id: string;
  word: Word;
  /** As in "w", "Shift+Z", "Ctrl+0", "ArrowLeft"; Ctrl also means Cmd. Several for the same. */
  keys: string[];
  run: () => void;
  /** Repeats while the key is held. */
  repeats?: boolean;
  /** Cannot be run now. */
  isOff?: () => boolean;
  /** What is to be so before it can: said by the palette. */
  needs?: Word;
  /** The same as a sentence, where its key is to say it, too. */
  keySays?: Word;
  /** Its key works in fields, too. */
  inFields?: boolean;
}

const registered: Command[] = [];

/** Returns how to take them out again. */
export function register(commands: Command[]): () => void {
  registered.push(...commands);
  return () => {
    for (const command of commands) {
      const at = registered.indexOf(command);
      if (at >= 0) {
        registered.splice(at, 1);
      }
    }
  };
}

export const commands = (): readonly Command[] => registered;

/** "timeline", or "frame" for what works on every page. */
export const pageOf = (command: Pick<Command, "id">): string =>
  TABS.find((name) => command.id.startsWith(`${name}.`)) ?? "frame";

/** Can be run now: of this page, and not switched off. Pages that are not shown keep their commands registered. */
export const isOffered = (command: Command): boolean =>
  (pageOf(command) === "frame" || pageOf(command) === tab.get()) && !(command.isOff?.() ?? false);

/** Why a command that exists cannot be run now; null: it can. */
export const refusalOf = (command: Command): string | null =>
  isOffered(command)
    ? null
    : pageOf(command) !== "frame" && pageOf(command) !== tab.get()
      ? t("palette.other-page", t(`tab.${pageOf(command)}` as "tab.timeline"))
      : t(command.needs ?? "palette.not-now");

/** Keys that two commands of the same page, or of a page and the frame, both ask for. */
export function clashes(all: readonly Command[]): string[] {
  const out: string[] = [];
  for (const page of TABS) {
    const owner = new Map<string, string>();
    for (const command of all.filter((c) => pageOf(c) === page || pageOf(c) === "frame")) {
      for (const key of command.keys.map(normal)) {
        const other = owner.get(key);
        if (other !== undefined && other !== command.id) {
          out.push(`${key}: ${other}, ${command.id}`);
        }
        owner.set(key, command.id);
      }
    }
  }
  return [...new Set(out)];
}

export function keyOf(e: KeyboardEvent): string {
  const name = e.key === " " ? "Space" : e.key.length === 1 ? e.key.toLowerCase() : e.key;
  const shifted = e.shiftKey && (e.key.length > 1 || /[a-z]/i.test(e.key));
  return `${e.ctrlKey || e.metaKey ? "Ctrl+" : ""}${e.altKey ? "Alt+" : ""}${shifted ? "Shift+" : ""}${name}`;
}

/** How the event of a key is called. */
export const normal = (key: string): string =>
  key.replace(
    /(^|\+)([A-Z])$/,
    (_, before: string, letter: string) => before + letter.toLowerCase(),
  );

const isField = (target: HTMLElement | null): target is HTMLElement =>
  target !== null && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);

/** Escape leaves the field and nothing else: what is typed and what is looked at stay. */
function keyInField(e: KeyboardEvent, field: HTMLElement): void {
  if (e.key !== "Escape" || e.defaultPrevented) {
    return;
  }
  if ((field as HTMLInputElement).type === "search" && field.closest("dialog") === null) {
    e.preventDefault(); // browsers empty such a field
  }
  field.blur();
}

/** Runs the command of a key; most keys that are typed into fields are theirs. */
export function dispatch(e: KeyboardEvent): void {
  const target = e.target as HTMLElement | null;
  const key = keyOf(e);
  const ofKey = [...registered].reverse().filter((c) => c.keys.some((k) => normal(k) === key));
  const found = ofKey.find(isOffered);
  if (isField(target) && found?.inFields !== true) {
    keyInField(e, target);
    return;
  }
  // What lies over the page has the keys, also when the focus is on none of its parts.
  if (document.querySelector("dialog[open]") !== null) {
    return;
  }
  if (found !== undefined && (!e.repeat || found.repeats === true)) {
    e.preventDefault();
    found.run();
  }
  const short = ofKey.find((c) => c.keySays !== undefined && pageOf(c) === tab.get());
  if (found === undefined && short !== undefined) {
    notify("info", t(short.keySays!));
  }
}
