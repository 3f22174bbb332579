/** The captures that are open, each with the way to close it or to compare the others with it; and the way to open another one, of the
 * folders that the server lets the page see. */
import { useState } from "preact/hooks";
import type { Session } from "../api/types";
import { useAtom } from "../base/atom";
import { baseline, baselineOf, chooseBaseline } from "../model/baseline";
import {
  closeCapture,
  isOpen,
  nameOf,
  openCapture,
  openCaptures,
  readFolder,
  sendCapture,
} from "../model/captures";
import type { Folder } from "../model/captures";
import { fail, lower, notify } from "../model/notices";
import { Icon } from "../panels/icons";
import { t } from "../words";
import { takeViews } from "./views";

export function Captures({ opened }: { opened: Session }) {
  const base = baselineOf(opened, useAtom(baseline));
  const isOne = openCaptures(opened).length === 1;
  return (
    <ul class="captures">
      {opened.clusters.map(
        (cluster, i) =>
          isOpen(opened, i) && (
            <li key={i}>
              <span class="mono break">{cluster.path}</span>
              {!isOne && (
                <>
                  {base === i && <b>{t("captures.baseline")}</b>}
                  <button
                    type="button"
                    title={base === i ? undefined : t("captures.as-baseline-title")}
                    onClick={() => chooseBaseline(base === i ? "none" : i)}
                  >
                    {t(base === i ? "captures.no-baseline" : "captures.as-baseline")}
                  </button>
                  <button
                    type="button"
                    class="flat"
                    aria-label={`${t("captures.close")}: ${cluster.path}`}
                    title={t("captures.close")}
                    onClick={() => void closeCapture(i).catch(fail)}
                  >
                    <Icon name="close" />
                  </button>
                </>
              )}
              {cluster.notes.map((note) => (
                <p class="quiet">{note}</p>
              ))}
            </li>
          ),
      )}
    </ul>
  );
}

async function openPath(path: string): Promise<void> {
  await openCapture(path);
  notify("info", t("captures.opened", nameOf(path)));
}

/** Files of whoever looks at the page, one after the other. */
async function sendFiles(files: readonly File[]): Promise<void> {
  if (files.length > 1) {
    notify("info", t("captures.each-its-own", files.length));
  }
  for (const file of files) {
    try {
      if (await takeViews(file)) {
        continue;
      }
      const sending = notify("info", t("captures.sending", file.name));
      await sendCapture(file).finally(() => lower(sending)); // what was said of all stays in sight
      notify("info", t("captures.opened", file.name));
    } catch (error) {
      fail(error);
    }
  }
}

/** Names of folders among what is dropped: one capture is one file here, or a folder that the server sees. */
const foldersOf = (e: DragEvent): string[] =>
  Array.from(e.dataTransfer?.items ?? []).flatMap((item) => {
    const entry = item.webkitGetAsEntry();
    return entry?.isDirectory === true ? [entry.name] : [];
  });

function takeDropped(e: DragEvent): void {
  const folders = foldersOf(e);
  const files = Array.from(e.dataTransfer?.files ?? []).filter((f) => !folders.includes(f.name));
  for (const name of folders) {
    notify("warning", t("captures.is-folder", name));
  }
  void sendFiles(files);
}

const holdsFiles = (e: DragEvent): boolean => e.dataTransfer?.types.includes("Files") === true;

/** A file that is dropped anywhere on the page is opened. Gives the way to end it. */
export function takeDrops(): () => void {
  const over = (e: DragEvent): void => {
    if (holdsFiles(e)) {
      e.preventDefault(); // else the browser leaves the page for the file
    }
  };
  const drop = (e: DragEvent): void => {
    if (holdsFiles(e)) {
      e.preventDefault();
      takeDropped(e);
    }
  };
  window.addEventListener("dragover", over);
  window.addEventListener("drop", drop);
  return () => {
    window.removeEventListener("dragover", over);
    window.removeEventListener("drop", drop);
  };
}

export function OpenAnother() {
  const [path, setPath] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [folder, setFolder] = useState<Folder | null>(null);
  const open = (what: string): void => {
    setBusy(true);
    openPath(what)
      .then(() => setPath(""), fail)
      .finally(() => setBusy(false));
  };
  const browse = (where: string): void => {
    readFolder(where).then(setFolder, fail);
  };
  return (
    <details
      class="open-another"
      onToggle={(e) => e.currentTarget.open && folder === null && browse("")}
    >
      <summary>{t("captures.another")}</summary>
      <form
        class="controls-row"
        onSubmit={(e) => {
          e.preventDefault();
          open(path.trim());
        }}
      >
        <label class="fill">
          {t("captures.path")}
          <input
            class="mono fill"
            value={path}
            placeholder={t("captures.path-hint")}
            onInput={(e) => setPath(e.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={isBusy || path.trim() === ""}>
          {t("captures.open")}
        </button>
      </form>
      <label class="controls-row">
        {t("captures.send")}
        <input
          type="file"
          multiple
          onChange={(e) => {
            void sendFiles(Array.from(e.currentTarget.files ?? []));
            e.currentTarget.value = "";
          }}
        />
        <span class="quiet">{t("captures.send-hint")}</span>
      </label>
      {folder !== null && <Entries {...{ folder, browse, open, isBusy }} />}
    </details>
  );
}

interface EntriesProps {
  folder: Folder;
  browse: (path: string) => void;
  open: (path: string) => void;
  isBusy: boolean;
}

function Entries({ folder, browse, open, isBusy }: EntriesProps) {
  return (
    <>
      {folder.path !== "" && (
        <p class="controls-row">
          <button type="button" onClick={() => browse("")}>
            {t("captures.up")}
          </button>
          <span class="mono break">{folder.path}</span>
        </p>
      )}
      {folder.entries.length === 0 && (
        <p class="quiet">
          {t(folder.path === "" ? "captures.no-folders" : "captures.empty-folder")}
        </p>
      )}
      <ul class="captures scroll-y">
        {folder.entries.map((entry) => (
          <li key={entry.path}>
            {entry.folder ? (
              <button type="button" class="flat mono" onClick={() => browse(entry.path)}>
                {entry.name}/
              </button>
            ) : (
              <span class="mono break">{entry.name}</span>
            )}
            <button
              type="button"
              disabled={isBusy}
              aria-label={`${t("captures.open")}: ${entry.name}`}
              onClick={() => open(entry.path)}
            >
              {t("captures.open")}
            </button>
          </li>
        ))}
      </ul>
      {folder.left_out > 0 && <p class="quiet">{t("captures.left-out", folder.left_out)}</p>}
    </>
  );
}
