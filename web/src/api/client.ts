/** Asks the server. The token comes with the address once (#token=...), moves to sessionStorage and leaves the address. */
import { signed } from "../base/time";
import { spoken } from "../words";

const KEY = "pipescope-token";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** What the reply says besides. */
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(signed(message));
  }
}

/** null: the page has none. */
export const tokenNow = (): string | null => sessionStorage.getItem(KEY);

/** True when the address had one. */
export function takeToken(): boolean {
  const hash = new URLSearchParams(location.hash.slice(1));
  const token = hash.get("token");
  if (token !== null) {
    sessionStorage.setItem(KEY, token);
    hash.delete("token");
    const rest = hash.toString();
    history.replaceState(
      null,
      "",
      location.pathname + location.search + (rest !== "" ? `#${rest}` : ""),
    );
  }
  return token !== null;
}

/** One that was typed, or the address that holds it. */
export function keepToken(text: string): void {
  const found = /[#&]token=([\w-]+)/.exec(text)?.[1] ?? text.trim();
  sessionStorage.setItem(KEY, found);
}

export type Params = Record<string, string | number | boolean | undefined>;

export function address(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== false) {
      query.set(name, value === true ? "1" : String(value));
    }
  }
  const text = query.toString();
  return `/api/${path}${text !== "" ? `?${text}` : ""}`;
}

async function ask(path: string, params: Params, init: RequestInit): Promise<Response> {
  const headers = {
    ...(init.headers as Record<string, string>),
    Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`,
  };
  const reply = await fetch(address(path, { ...spoken(), ...params }), { ...init, headers });
  if (!reply.ok) {
    let text = reply.statusText;
    let more: Record<string, unknown> = {};
    try {
      more = (await reply.json()) as Record<string, unknown>;
      text = String(more.error);
    } catch {
      // the status says it
    }
    throw new ApiError(reply.status, text, more);
  }
  return reply;
}

interface Says {
  notes?: string[];
  sentences?: string[];
  tables?: Says[];
}

/** The sentences of a reply with the page's signs. */
function signedReply(reply: Says): void {
  for (const part of [reply, ...(reply.tables ?? [])]) {
    for (const key of ["notes", "sentences"] as const) {
      if (part[key] !== undefined) {
        part[key] = part[key].map(signed);
      }
    }
  }
}

/** What the capture does not hold, as the status of an error says it. */
const NOTHING = 409;

/** GET, as JSON. `signal` gives up. That there is nothing is an answer to the question whether there is, and no fault for the browser's
 * console; for who wants it, it is an error like others. */
export async function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const init = signal === undefined ? {} : { signal };
  const reply = (await (await ask(path, { ...params, nothing: true }, init)).json()) as T;
  const nothing = (reply as { nothing?: unknown } | null)?.nothing;
  if (typeof nothing === "string") {
    throw new ApiError(NOTHING, nothing);
  }
  signedReply(reply ?? {});
  return reply;
}

/** What the capture does not hold stays so however often it is asked for: nothing to try again. */
export const hasNothing = (error: unknown): boolean =>
  error instanceof ApiError && error.status === NOTHING;

/** GET, as it is: files. */
export async function getText(
  path: string,
  params: Params = {},
  signal?: AbortSignal,
): Promise<string> {
  return (await ask(path, params, signal === undefined ? {} : { signal })).text();
}

export async function getBytes(
  path: string,
  params: Params = {},
  signal?: AbortSignal,
): Promise<ArrayBuffer> {
  return (await ask(path, params, signal === undefined ? {} : { signal })).arrayBuffer();
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
  };
  return (await (
    await ask(path, {}, signal === undefined ? init : { ...init, signal })
  ).json()) as T;
}

/** A file as the body. */
export async function postFile<T>(path: string, params: Params, file: Blob): Promise<T> {
  return (await (await ask(path, params, { method: "POST", body: file })).json()) as T;
}

export async function postText(path: string, body: unknown): Promise<string> {
  return (
    await ask(
      path,
      {},
      {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      },
    )
  ).text();
}

/** Numbers as the server takes them: [0,1,2,9] -> "0-2,9". */
export function list(numbers: Iterable<number>): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length;) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1] <= sorted[j] + 1) {
      j++;
    }
    parts.push(sorted[i] === sorted[j] ? String(sorted[i]) : `${sorted[i]}-${sorted[j]}`);
    i = j + 1;
  }
  return parts.join(",");
}
