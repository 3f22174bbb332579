/** What the page of calls looks at; the address holds it. */
import { Atom } from "../base/atom";
import { BYS, TIMES, type By, type Time } from "./flame";
import { tab } from "./session";
import { urlChanged } from "./url_state";

/** Of what: "" all of the capture, a step by its id, the span that tables keep to, the box. */
export type Scope = "" | "span" | "box" | `step ${string}`;

export interface CallsState {
  /** "": the first one; "all". */
  rank: string;
  scope: Scope;
  by: By;
  /** "": that of devices where there is any. */
  time: Time | "";
  find: string;
  /** Nodes as the server counts them. */
  focus: number;
  chosen: number;
}

const FRESH: CallsState = {
  rank: "",
  scope: "",
  by: "callers",
  time: "",
  find: "",
  focus: 0,
  chosen: 0,
};
export const calls = new Atom<CallsState>(FRESH);

/** The step that it is; null: none. */
export const stepOf = (scope: Scope): string | null => /^step (-?\d+)$/.exec(scope)?.[1] ?? null;

const scopeOf = (text: string | undefined): Scope =>
  text === "span" || text === "box" || /^step -?\d+$/.test(text ?? "") ? (text as Scope) : "";
const nodeOf = (text: string | undefined): number => (/^\d+$/.test(text ?? "") ? Number(text) : 0);

export const part = {
  prefix: "ct",
  read: (): Record<string, string> => {
    const now = calls.get();
    return Object.fromEntries(
      (Object.keys(FRESH) as (keyof CallsState)[])
        .filter((key) => now[key] !== FRESH[key])
        .map((key) => [key, String(now[key])]),
    );
  },
  write: (from: Record<string, string>): void =>
    calls.set({
      rank: from.rank ?? "",
      scope: scopeOf(from.scope),
      by: BYS.find((by) => by === from.by) ?? "callers",
      time: TIMES.find((time) => time === from.time) ?? "",
      find: from.find ?? "",
      focus: nodeOf(from.focus),
      chosen: nodeOf(from.chosen),
    }),
};

/** Another tree has other nodes. */
export function lookAt(change: Partial<CallsState>): void {
  const isOther = "rank" in change || "scope" in change || "by" in change;
  calls.update((now) => ({ ...now, ...(isOther ? { focus: 0, chosen: 0 } : {}), ...change }));
  urlChanged();
}

/** From other pages: the calls of the box, of the span, of a step. */
export function showCalls(rank: string, scope: Scope): void {
  lookAt({ rank, scope, find: "" });
  tab.set("calls");
}
