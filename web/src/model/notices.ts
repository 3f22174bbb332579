/** What the page tells people: failures, and what is odd about the capture. */
import { ApiError } from "../api/client";
import { Atom } from "../base/atom";

export type Severity = "info" | "warning" | "error";

export interface Notice {
  id: number;
  severity: Severity;
  text: string;
  /** How often it was said. */
  n: number;
  /** Still over the page, not only in the list. */
  isUp: boolean;
  /** Takes back what was done. */
  undo?: () => void;
}

/** An atom, of whatever. */
type Changes = Pick<Atom<unknown>, "listen">;

export const notices = new Atom<readonly Notice[]>([]);
let last = 0;
const SEEN_MS = 6000;
/** One has looked at what was done before. */
const UNDO_MS = 15_000;

/** A failure that was said before is counted, not said twice, and news are said anew; of something that can be undone each is one of its own:
 * two moves by 61 ms are no move by 122 ms. Those that are no failures go away by themselves. Returns which it is. */
export function notify(severity: Severity, text: string, undo?: () => void): number {
  const isSame = (n: Notice): boolean => n.text === text && n.severity === severity;
  const known = undo === undefined ? notices.get().find((n) => isSame(n) && !n.undo) : undefined;
  const id = known?.id ?? ++last;
  notices.update((all) =>
    [
      ...all.filter((n) => n !== known),
      {
        id,
        severity,
        text,
        n: severity === "info" ? 1 : (known?.n ?? 0) + 1,
        isUp: true,
        ...(undo !== undefined ? { undo } : {}),
      },
    ].slice(-200),
  );
  if (severity === "info") {
    setTimeout(() => lower(id), undo === undefined ? SEEN_MS : UNDO_MS);
  }
  return id;
}

/** Over the page for as long as what it tells of is so; asked whenever one of `on` changes. */
export function lowerUnless(id: number, isSo: () => boolean, on: readonly Changes[]): void {
  const check = (): void => {
    if (!isSo()) {
      stops.forEach((stop) => stop());
      lower(id);
    }
  };
  const stops = on.map((one) => one.listen(check));
}

export function lower(id: number): void {
  notices.update((all) => all.map((n) => (n.id === id ? { ...n, isUp: false } : n)));
}

/** As a sentence; null for what was given up. */
export function sentenceOf(error: unknown): string | null {
  if (error instanceof DOMException && error.name === "AbortError") {
    return null;
  }
  return error instanceof Error ? error.message : String(error);
}

/** For `catch`: says what went wrong. Lost connections have a sign of their own. */
export function fail(error: unknown): void {
  const text = sentenceOf(error);
  if (text !== null && (error instanceof ApiError || !(error instanceof TypeError))) {
    notify("error", text);
  }
}
