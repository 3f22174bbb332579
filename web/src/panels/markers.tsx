/** The list of markers: jump, name, colour, delete, clear (T-22). */
import { useAtom } from "../base/atom";
import { restAfter, shownAs, timesAs, valueText, type Shown } from "../base/format";
import { exact } from "../base/time";
import { theme } from "../model/look";
import {
  addMarker,
  analyse,
  changeMarker,
  clearMarkers,
  jumpToMarker,
  markers,
  removeMarker,
  type Marker,
} from "../model/timeline";
import { box } from "../model/session";
import { t } from "../words";
import { Empty } from "./empty";
import { Icon } from "./icons";

function Time({ ns, shown }: { ns: number | null; shown: Shown }) {
  const text = ns === null ? "" : valueText(ns, shown);
  return (
    <td
      class="num"
      title={ns === null ? undefined : exact(ns)}
      data-rest={restAfter(text, shown) || undefined}
    >
      {text}
    </td>
  );
}

const lengthOf = (m: Marker): number | null => (m.to === null ? null : m.to - m.from);

function Row({ m, at, length }: { m: Marker; at: Shown; length: Shown }) {
  const colours = useAtom(theme).tints;
  const colour =
    typeof m.colour === "number" ? (colours[m.colour % colours.length] ?? "#888888") : m.colour;
  return (
    <tr>
      <td>
        <input
          type="color"
          value={colour}
          aria-label={t("markers.colour")}
          onInput={(e) => changeMarker(m.id, { colour: e.currentTarget.value })}
        />
      </td>
      <td>
        <input
          value={m.name}
          placeholder={t("markers.unnamed", m.id)}
          aria-label={t("markers.name")}
          onInput={(e) => changeMarker(m.id, { name: e.currentTarget.value })}
          onKeyDown={(e) => (e.key === "Enter" || e.key === "Escape") && e.currentTarget.blur()}
        />
      </td>
      <Time ns={m.from} shown={at} />
      <Time ns={lengthOf(m)} shown={length} />
      <td class="marker-tools">
        <button
          type="button"
          class="flat"
          aria-label={t("markers.jump")}
          title={t("markers.jump")}
          onClick={() => jumpToMarker(m)}
        >
          <Icon name="jump" />
        </button>
        {m.to !== null && (
          <button type="button" onClick={() => analyse({ from: m.from, to: m.to! })}>
            {t("list.analyse")}
          </button>
        )}
        <button
          type="button"
          class="flat"
          aria-label={t("markers.delete")}
          title={t("markers.delete")}
          onClick={() => removeMarker(m.id)}
        >
          <Icon name="close" />
        </button>
      </td>
    </tr>
  );
}

export function Markers() {
  const all = useAtom(markers);
  const b = useAtom(box);
  const at = shownAs(
    "at",
    "int",
    "ns",
    false,
    all.map((m) => m.from),
  );
  const length = timesAs(all.map(lengthOf).filter((ns) => ns !== null));
  return (
    <div class="markers">
      <div class="panel-bar">
        <button
          type="button"
          disabled={b === null}
          onClick={() => b !== null && addMarker(b.from, b.to)}
        >
          {t("markers.from-box")}
        </button>
        <button type="button" disabled={all.length === 0} onClick={clearMarkers}>
          {t("markers.clear")}
        </button>
      </div>
      {all.length === 0 ? (
        <Empty title={t("markers.none")}>
          <p class="quiet">{t("markers.none-hint")}</p>
        </Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>{t("markers.colour")}</th>
              <th>{t("markers.name")}</th>
              <th class="num">{`${t("markers.at")} ${at.unit}`}</th>
              <th class="num">{`${t("markers.length")} ${length.unit}`}</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {all.map((m) => (
              <Row key={m.id} m={m} at={at} length={length} />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
