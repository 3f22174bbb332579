/** Captures that are open: which, and how they come and go without a restart (docs/serve-api.md, "Captures"). */
import { get, post, postFile } from "../api/client";
import type { Rank, Session } from "../api/types";
import { session } from "./session";

export const isOpen = (opened: Session | null, i: number): boolean =>
  opened?.clusters[i] !== undefined && opened.clusters[i].closed !== true;

/** Number and path of each. */
export const openCaptures = (opened: Session | null): [number, string][] =>
  (opened?.clusters ?? []).flatMap((c, i): [number, string][] =>
    isOpen(opened, i) ? [[i, c.path]] : [],
  );

/** What each capture is, wherever it lies and whatever else is open: by its number, all of its ranks as one. */
export function captureIds(known: readonly Rank[]): Map<number, string> {
  const sums = new Map<number, bigint>();
  for (const { id, cluster } of known) {
    if (id !== undefined) {
      sums.set(cluster, BigInt.asUintN(64, (sums.get(cluster) ?? 0n) + BigInt(`0x${id}`)));
    }
  }
  return new Map([...sums].map(([i, sum]) => [i, `x${sum.toString(16).padStart(16, "0")}`]));
}

/** What pages without a choice of their own look at, as the server does. */
export const firstCapture = (opened: Session | null): number => openCaptures(opened)[0]?.[0] ?? 0;

/** "runs/new" -> "new" */
export const nameOf = (path: string): string =>
  path
    .split("/")
    .filter((part) => part !== "")
    .pop() ?? path;

/** Names of captures as a choice shows them: as much of the end of the path as tells them apart. */
export function shortNames(captures: readonly [number, string][]): [number, string][] {
  const parts = captures.map(([, path]) => path.split("/").filter((part) => part !== ""));
  const end = (at: number, n: number): string => parts[at].slice(-n).join("/");
  return captures.map(([i, path], at) => {
    for (let n = 1; n < parts[at].length; n++) {
      if (parts.every((_, other) => other === at || end(other, n) !== end(at, n))) {
        return [i, end(at, n)];
      }
    }
    return [i, path];
  });
}

export interface Folder {
  path: string;
  entries: { name: string; path: string; folder: boolean }[];
  left_out: number;
}

export const readFolder = (path: string, signal?: AbortSignal): Promise<Folder> =>
  get<Folder>("folder", { path }, signal);

/** Its number. Ranks come with the next events. */
export async function openCapture(path: string): Promise<number> {
  const { cluster } = await post<{ cluster: number }>("open", { path });
  session.set(await get<Session>("session"));
  return cluster;
}

/** A file that lies with whoever looks at the page: the server keeps it as long as it is open. */
export async function sendCapture(file: File): Promise<number> {
  const { cluster } = await postFile<{ cluster: number }>("upload", { name: file.name }, file);
  session.set(await get<Session>("session"));
  return cluster;
}

export async function closeCapture(cluster: number): Promise<void> {
  await post("close", { cluster });
  session.set(await get<Session>("session"));
}
