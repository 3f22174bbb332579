/** The views that were saved: where somebody looked, under a name, with a note (model/views.ts). */
import { useState } from "preact/hooks";
import { useAtom } from "../base/atom";
import { captureIds } from "../model/captures";
import { saveAs } from "../model/exports";
import { fail, notify } from "../model/notices";
import { ranks, tab, TABS } from "../model/session";
import { addressOf, parseHash } from "../model/url_state";
import {
  addViews,
  changeView,
  deleteView,
  lackedBy,
  MOST_BYTES,
  openView,
  parseViews,
  saveView,
  views,
  viewsFile,
  viewsOf,
  type SavedView,
} from "../model/views";
import { Dialog } from "../panels/dialog";
import { Empty } from "../panels/empty";
import { Icon } from "../panels/icons";
import { copyAddress } from "./copy";
import { dateLocale, language, t } from "../words";

const said = (isKept: boolean): void => {
  if (!isKept) {
    notify("error", t("views.not-kept"));
  }
};

export const pageWord = (view: SavedView): string =>
  t(`tab.${parseHash(view.address).tab ?? TABS[0]}`);

export const openCaptureIds = (): ReadonlySet<string> => new Set(captureIds(ranks.get()).values());

/** False: it is no file of views. */
export async function takeViews(file: File): Promise<boolean> {
  const added = file.size <= MOST_BYTES ? parseViews(await file.text()) : null;
  if (added !== null) {
    said(addViews(added));
    notify("info", t("views.added", added.length));
  }
  return added !== null;
}

async function takeFile(file: File | undefined): Promise<void> {
  if (file !== undefined && !(await takeViews(file))) {
    notify("error", t("views.no-file", file.name));
  }
}

export function ViewsDialog({ onClose }: { onClose: () => void }) {
  const all = useAtom(views);
  useAtom(ranks);
  useAtom(language);
  const open = openCaptureIds();
  const { here, others } = viewsOf(all, open);
  return (
    <Dialog title={t("command.views")} onClose={onClose} wide>
      <NewView />
      {here.length === 0 ? (
        <Empty title={t("views.none")}>
          <p class="quiet">{t("views.none-hint")}</p>
        </Empty>
      ) : (
        <ul class="views">
          {here.map((view) => (
            <View key={`${view.made} ${view.address}`} view={view} open={open} onClose={onClose} />
          ))}
        </ul>
      )}
      {others > 0 && <p class="quiet">{t("views.others", others)}</p>}
      <div class="controls-row">
        <button
          type="button"
          disabled={all.length === 0}
          onClick={() => saveAs("pipescope-views", "json", viewsFile(all))}
        >
          {t("views.export")}
        </button>
        <label class="controls-row">
          {t("views.import")}
          <input
            type="file"
            accept=".json"
            onChange={(e) => {
              takeFile(e.currentTarget.files?.[0]).catch(fail);
              e.currentTarget.value = "";
            }}
          />
        </label>
      </div>
      <p class="quiet">{t("views.where")}</p>
    </Dialog>
  );
}

function NewView() {
  const [name, setName] = useState("");
  const [note, setNote] = useState("");
  return (
    <form
      class="view-form"
      onSubmit={(e) => {
        e.preventDefault();
        said(saveView(name.trim() === "" ? t(`tab.${tab.get()}`) : name.trim(), note.trim()));
        setName("");
        setNote("");
      }}
    >
      <input
        autofocus
        aria-label={t("views.name")}
        placeholder={t("views.name")}
        value={name}
        onInput={(e) => setName(e.currentTarget.value)}
      />
      <input
        aria-label={t("views.note")}
        placeholder={`${t("views.note")}: ${t("views.note-hint")}`}
        value={note}
        onInput={(e) => setNote(e.currentTarget.value)}
      />
      <button type="submit" class="primary">
        {t("views.save")}
      </button>
    </form>
  );
}

interface ViewProps {
  view: SavedView;
  open: ReadonlySet<string>;
  onClose: () => void;
}

function View({ view, open, onClose }: ViewProps) {
  const lacked = lackedBy(view, open).map(({ name }) => name);
  return (
    <li>
      <button
        type="button"
        aria-label={`${t("views.open")}: ${view.name}`}
        onClick={() => (onClose(), openView(view))}
      >
        {t("views.open")}
      </button>
      <input
        aria-label={t("views.name")}
        value={view.name}
        onChange={(e) => said(changeView(view, { name: e.currentTarget.value }))}
      />
      <textarea
        rows={Math.min(6, view.note.split("\n").length)}
        aria-label={t("views.note")}
        placeholder={t("views.note")}
        value={view.note}
        onChange={(e) => said(changeView(view, { note: e.currentTarget.value }))}
      />
      <span class="quiet">
        {pageWord(view)}, {new Date(view.made).toLocaleString(dateLocale())}
        {lacked.length > 0 && `, ${t("views.not-open", lacked.join(t("frame.comma")))}`}
      </span>
      <button
        type="button"
        class="flat"
        aria-label={`${t("command.copy-address")}: ${view.name}`}
        title={`${t("command.copy-address")}\n${addressOf(view.address)}`}
        onClick={() => void copyAddress(addressOf(view.address))}
      >
        <Icon name="copy" />
      </button>
      <button
        type="button"
        class="flat"
        aria-label={`${t("views.delete")}: ${view.name}`}
        title={t("views.delete")}
        onClick={() => said(deleteView(view))}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}
