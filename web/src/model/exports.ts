/** What can be saved as a file now: pictures of what is seen, tables. Pages and tables say so while they are there; the menu of
 * the frame lists those of the page that is shown. */
import { Atom } from "../base/atom";
import type { Tab } from "./session";

export interface Export {
  /** The page it belongs to. */
  tab: Tab;
  /** "Timeline", "Overall Metrics" */
  title: () => string;
  /** Of the file, where that is another. */
  fileName?: () => string;
  kinds: ExportKind[];
  /** Gives what is to be saved. */
  make: (kind: ExportKind) => Promise<Blob | string>;
  /** Not to be seen now. */
  isOff?: () => boolean;
}

export type ExportKind = "png" | "svg" | "csv" | "json" | "pftrace";

const MIME: Record<ExportKind, string> = {
  png: "image/png",
  svg: "image/svg+xml",
  csv: "text/csv",
  json: "application/json",
  pftrace: "application/octet-stream",
};

export const exports_ = new Atom<readonly Export[]>([]);

/** Returns how to take it back. */
export function offer(what: Export): () => void {
  exports_.update((all) => [...all, what]);
  return () => exports_.update((all) => all.filter((e) => e !== what));
}

export function saveAs(name: string, kind: ExportKind, what: Blob | string): void {
  const blob = typeof what === "string" ? new Blob([what], { type: MIME[kind] }) : what;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${
    name
      .replace(/[^\p{L}\p{N}._-]+/gu, "_")
      .replace(/^_+|_+$/g, "")
      .slice(0, 80) || "table"
  }.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const blobOf = (canvas: HTMLCanvasElement): Promise<Blob> =>
  new Promise((done, fail) =>
    canvas.toBlob(
      (blob) => (blob === null ? fail(new Error("the picture is too large")) : done(blob)),
      "image/png",
    ),
  );
