/** Dialogs: the offset of a rank or of a part of it (T-20), a marker (T-22). */
import { useState } from "preact/hooks";
import { exact } from "../base/time";
import { useAtom } from "../base/atom";
import type { Item } from "../model/lanes";
import { theme } from "../model/look";
import { changeMarker, editedMarker, jumpToMarker, markers, removeMarker } from "../model/timeline";
import { Dialog } from "../panels/dialog";
import { rankWord, t } from "../words";
import type { Actions } from "./actions";
import { longTime, spanText } from "./axis";

export function OffsetDialog({
  item,
  actions,
  onClose,
}: {
  item: Item;
  actions: Actions;
  onClose: () => void;
}) {
  const [text, setText] = useState(String(actions.offsetOf(item)));
  const value = /^\s*-?\d+\s*$/.test(text) ? Number(text) : null;
  const isFit = value !== null && Number.isSafeInteger(value);
  const part = item.node >= 0 && item.lanes !== null ? item.lanes.partOf(item.node) : "";
  const name = part === "" ? item.label : `${rankWord(item.rank!.label)} \u203a ${part}`;
  return (
    <Dialog title={t("timeline.offset-of", name)} onClose={onClose}>
      <form
        class="tl-form"
        onSubmit={(e) => {
          e.preventDefault();
          if (isFit) {
            actions.setOffset(item, value);
            onClose();
          }
        }}
      >
        <label>
          {t("timeline.offset-ns")}{" "}
          <input
            autofocus
            inputMode="numeric"
            class={isFit ? "" : "wrong"}
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>
        <p class="quiet">{t("timeline.offset-hint")}</p>
        {isFit && value !== 0 && (
          <p class="quiet">{`${value < 0 ? "\u2212" : ""}${spanText(Math.abs(value))}`}</p>
        )}
        <div class="tl-buttons">
          <button
            type="button"
            onClick={() => setText(String(Math.round(actions.offsetToStart(item))))}
          >
            {t("timeline.to-start")}
          </button>
          <button type="button" onClick={() => setText("0")}>
            {t("timeline.no-offset")}
          </button>
          <span class="spring" />
          <button
            type="button"
            onClick={() => {
              actions.recoverOffsets();
              onClose();
            }}
          >
            {t("timeline.recover")}
          </button>
          <button type="submit" class="primary" disabled={!isFit}>
            {t("timeline.apply")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function MarkerDialog() {
  const id = useAtom(editedMarker);
  const all = useAtom(markers);
  const { tints } = useAtom(theme);
  const marker = all.find((m) => m.id === id);
  if (marker === undefined) {
    return null;
  }
  const close = (): void => editedMarker.set(null);
  return (
    <Dialog
      title={t(marker.to === null ? "timeline.marker-title" : "timeline.region-title")}
      onClose={close}
    >
      <form
        class="tl-form"
        onSubmit={(e) => {
          e.preventDefault();
          close();
        }}
      >
        <label>
          {t("markers.name")}{" "}
          <input
            autofocus
            value={marker.name}
            onInput={(e) => changeMarker(marker.id, { name: e.currentTarget.value })}
          />
        </label>
        <p class="quiet">
          {longTime(marker.from)}
          {marker.to !== null &&
            ` \u2013 ${longTime(marker.to)} \u00b7 ${spanText(marker.to - marker.from)} \u00b7 ${exact(marker.to - marker.from)}`}
        </p>
        <div
          class="tl-swatches"
          role="radiogroup"
          aria-label={t("markers.colour")}
          onKeyDown={(e) => {
            if (e.key === "Enter") {
              e.preventDefault(); // as in the name: done; Space chooses
              close();
            }
          }}
        >
          {tints.map((tint, i) => (
            <button
              type="button"
              role="radio"
              aria-checked={marker.colour === i}
              aria-label={String(i + 1)}
              style={{ background: tint }}
              onClick={() => changeMarker(marker.id, { colour: i })}
            />
          ))}
          <input
            type="color"
            aria-label={t("markers.colour")}
            value={
              typeof marker.colour === "string"
                ? marker.colour
                : (tints[marker.colour] ?? "#888888")
            }
            onInput={(e) => changeMarker(marker.id, { colour: e.currentTarget.value })}
          />
        </div>
        <div class="tl-buttons">
          <button
            type="button"
            onClick={() => {
              removeMarker(marker.id);
              close();
            }}
          >
            {t("markers.delete")}
          </button>
          <button
            type="button"
            onClick={() => {
              jumpToMarker(marker);
              close();
            }}
          >
            {t("markers.jump")}
          </button>
          <span class="spring" />
          <button type="submit" class="primary">
            {t("timeline.done")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
