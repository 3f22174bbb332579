/** The address holds what is looked at: the tab, and what each page says of itself. A page registers under a prefix; its keys
 * stand as "prefix.key". Changes replace the address; another tab is a step of the history. The token is never in it. */
import { captureIds } from "./captures";
import { ranks, tab, TABS, type Tab } from "./session";

export interface UrlPart {
  /** "tl", "pp": no dots. Numbers in short; texts are encoded. */
  prefix: string;
  /** What it looks at; what is as at first is left out. */
  read: () => Record<string, string>;
  /** Looks at that; what is not in it is as at first. Called when the page registers and the address knows it, and when the
   * user goes back. */
  write: (state: Record<string, string>) => void;
}

/** By prefix. */
export type UrlState = ReadonlyMap<string, Record<string, string>>;

/** "#tab=timeline&tl.from=1" without the sign. */
export function parseHash(hash: string): { tab: Tab | null; parts: UrlState } {
  const parts = new Map<string, Record<string, string>>();
  let found: Tab | null = null;
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const dot = key.indexOf(".");
    if (key === "tab") {
      found = TABS.find((name) => name === value) ?? null;
    } else if (dot > 0) {
      const prefix = key.slice(0, dot);
      parts.set(prefix, { ...parts.get(prefix), [key.slice(dot + 1)]: value });
    }
  }
  return { tab: found, parts };
}

export function formatHash(shown: Tab, parts: UrlState): string {
  const out = new URLSearchParams({ tab: shown });
  for (const [prefix, state] of parts) {
    for (const [key, value] of Object.entries(state)) {
      out.set(`${prefix}.${key}`, value);
    }
  }
  return readable(out);
}

/** These may stand in a fragment as they are, and are easier to read so. */
const readable = (params: URLSearchParams): string =>
  params.toString().replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/");

const RANK_ID = /\b[0-9a-f]{16}\b/g;
const CAPTURE_ID = /\bx[0-9a-f]{16}\b/g;
/** Where numbers of captures stand, and what is before them. */
const CAPTURE_AT: Readonly<Record<string, RegExp>> = {
  "base.n": /^()(\d+)/,
  "job.cluster": /^()(\d+)/,
  "cmp.now": /^()(\d+)/,
  "cmp.base": /^()(\d+)/,
  "pp.under": /^(beside:)(\d+)/,
};

/** Of an address with each value changed, as it was meant: it may be written in several ways. */
function withValues(hash: string, change: (value: string, key: string) => string): string {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const changed = new URLSearchParams([...params].map(([key, value]) => [key, change(value, key)]));
  return changed.toString() === params.toString() ? hash : `#${readable(changed)}`;
}

/** In the address ranks and captures stand by what they are, not by where their file lies or which was opened first: it holds for a copy
 * of the capture elsewhere. What is none of these stays as it is. */
export function idsOf(hash: string): string {
  const by = new Map(ranks.get().map((r) => [r.key, r.id ?? r.key]));
  const captures = captureIds(ranks.get());
  return withValues(hash, (value, key) => {
    const named = value.replace(RANK_ID, (rank) => by.get(rank) ?? rank);
    const at = CAPTURE_AT[key];
    return at === undefined
      ? named
      : named.replace(
          at,
          (_, before: string, n: string) => before + (captures.get(Number(n)) ?? n),
        );
  });
}

export function keysOf(hash: string): string {
  const by = new Map(ranks.get().map((r) => [r.id, r.key]));
  const captures = new Map([...captureIds(ranks.get())].map(([n, id]) => [id, String(n)]));
  return withValues(hash, (value) =>
    value
      .replace(RANK_ID, (id) => by.get(id) ?? id)
      .replace(CAPTURE_ID, (id) => captures.get(id) ?? id),
  );
}

const registered: UrlPart[] = [];
/** What the address said of pages that are not there yet, or no longer. */
const pending = new Map<string, Record<string, string>>();
let timer = 0;
let isRestoring = false;

/** Returns how to take it back. */
export function registerUrl(part: UrlPart): () => void {
  registered.push(part);
  const known = pending.get(part.prefix);
  if (known !== undefined) {
    pending.delete(part.prefix);
    part.write(known);
  }
  if (ranks.get().length > 0) {
    urlChanged(); // another page may have asked for what it shows
  }
  return () => {
    pending.set(part.prefix, part.read());
    registered.splice(registered.indexOf(part), 1);
  };
}

function current(): string {
  const parts = new Map(pending);
  for (const part of registered) {
    const state = part.read();
    if (Object.keys(state).length > 0) {
      parts.set(part.prefix, state);
    } else {
      parts.delete(part.prefix);
    }
  }
  return idsOf(`#${formatHash(tab.get(), parts)}`);
}

function put(isStep: boolean): void {
  clearTimeout(timer);
  timer = 0;
  const now = current();
  if (now !== location.hash) {
    history[isStep ? "pushState" : "replaceState"](null, "", now);
  }
}

/** Pages call it when what they look at has changed. */
export function urlChanged(): void {
  if (timer === 0 && !isRestoring) {
    timer = setTimeout(() => put(false), 250) as unknown as number;
  }
}

/** The part of the address that says what is seen right now. */
export function hashNow(): string {
  put(false);
  return location.hash;
}

/** The address of what is seen right now, to hand on. */
export function addressNow(): string {
  return addressOf(hashNow());
}

/** The same of what was seen some time, as it was kept. */
export const addressOf = (hash: string): string => new URL(hash, location.href).href;

/** Looks at what such an address says, as a step of the history. */
export function goToAddress(hash: string): void {
  put(false);
  history.pushState(null, "", hash);
  restore(hash);
}

function restore(hash = location.hash): void {
  const { tab: shown, parts } = parseHash(keysOf(hash));
  isRestoring = true;
  for (const part of registered) {
    part.write(parts.get(part.prefix) ?? {});
  }
  pending.clear();
  for (const [prefix, state] of parts) {
    if (!registered.some((part) => part.prefix === prefix)) {
      pending.set(prefix, state);
    }
  }
  if (shown !== null) {
    tab.set(shown);
  }
  isRestoring = false;
}

/** Reads the address and follows it; once, when the page starts. */
export function followAddress(): void {
  const first = location.hash;
  restore(first);
  if (ranks.get().length === 0) {
    // Which ranks it names is known when the server has told what there is.
    const stop = ranks.listen(() => {
      stop();
      if (keysOf(first) !== first) {
        restore(first);
      }
    });
  }
  addEventListener("popstate", () => restore());
  tab.listen(() => !isRestoring && put(true));
}
