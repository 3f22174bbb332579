/** Slice Detail: everything that is known of the selected slice. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Link, Ref, Slice } from "../api/types";
import { useAtom } from "../base/atom";
import { duration, exact, percent, signedDuration } from "../base/time";
import { whyNoLinks } from "../model/notes";
import { fail } from "../model/notices";
import { movedBy, offsets, rankOf, selected, shiftOf, show } from "../model/session";
import { shiftAt } from "../model/tree";
import { rankWord, sliceWord, t } from "../words";
import { argumentHint } from "../words/hints";
import { Empty, Loading } from "./empty";
import { Peers } from "./peers";

/** The whole slice of a ref, null while it is asked for. */
export function useSlice(ref: Ref | null): Slice | null {
  const [slice, setSlice] = useState<Slice | null>(null);
  useEffect(() => {
    if (ref === null) {
      setSlice(null);
      return undefined;
    }
    const stop = new AbortController();
    get<Slice>("slice", { rank: ref.rank, slice: ref.slice }, stop.signal).then(
      setSlice,
      (error: unknown) => {
        if (!stop.signal.aborted) {
          setSlice(null);
          fail(error);
        }
      },
    );
    return () => stop.abort();
  }, [ref?.rank, ref?.slice]);
  return slice !== null && ref !== null && slice.rank === ref.rank && slice.slice === ref.slice
    ? slice
    : null;
}

function absoluteText(slice: Slice, at: number): string {
  return String(BigInt(slice.origin_ns) + BigInt(at));
}

/** `hintOf`: what a name means, for the pointer on it. */
export function Fields({
  rows,
  hintOf = () => "",
}: {
  rows: [string, ComponentChildren][];
  hintOf?: (name: string) => string;
}) {
  return (
    <table class="fields">
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row" title={hintOf(name) || name}>
              {name}
            </th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** `more` stands before what is said of each slice, `last` behind it. */
export function RefButton({
  to,
  more,
  last,
}: {
  to: Ref;
  more?: string;
  last?: string | undefined;
}) {
  const rank = rankOf(to.rank);
  return (
    <button
      type="button"
      class="ref"
      title={t("detail.jump", exact(to.start))}
      onClick={() => show(to)}
    >
      <span class="swatch" style={{ background: `var(--tint${to.tint})` }} />
      <span class="mono">{sliceWord(to.name)}</span>
      <span class="quiet">
        {[
          more,
          duration(to.dur),
          rank?.key === selected.get()?.rank ? undefined : rankWord(rank?.label ?? ""),
          last,
        ]
          .filter((s) => s !== undefined && s !== "")
          .join(" \u00b7 ")}
      </span>
    </button>
  );
}

/** Objects and lists as JSON, short ones on one line. */
export function argText(value: unknown): string {
  if (value === null || typeof value !== "object") {
    return String(value);
  }
  const short = JSON.stringify(value);
  return short.length <= 120 ? short : JSON.stringify(value, null, 1);
}

function Links({ links }: { links: Link[] }) {
  const parts = (["from", "to"] as const).map((direction) => ({
    direction,
    all: links.filter((l) => l.direction === direction),
  }));
  return (
    <>
      {parts
        .filter((p) => p.all.length > 0)
        .map(({ direction, all }) => (
          <section key={direction}>
            <h3>{t(direction === "from" ? "detail.comes-from" : "detail.leads-to")}</h3>
            <ul class="refs">
              {all.slice(0, 200).map((l, i) => (
                <li key={i}>
                  <RefButton to={l.ref} more={l.kind} />
                </li>
              ))}
            </ul>
            {all.length > 200 && <p class="quiet">{t("detail.more", all.length - 200)}</p>}
          </section>
        ))}
    </>
  );
}

export function Detail() {
  const ref = useAtom(selected);
  const slice = useSlice(ref);
  useAtom(offsets);
  if (ref === null) {
    return (
      <Empty title={t("detail.none")}>
        <p class="quiet">{t("detail.none-hint")}</p>
      </Empty>
    );
  }
  if (slice === null) {
    return <Loading />;
  }
  const rank = rankOf(slice.rank);
  const shift = shiftAt(slice.rank, slice.lane) ?? (rank === undefined ? 0 : shiftOf(rank));
  const moved = rank === undefined ? 0 : movedBy(rank) + shift - shiftOf(rank);
  const share =
    slice.self_ns === null || slice.dur === 0 ? "" : ` (${percent(slice.self_ns / slice.dur)} %)`;
  const rows: [string, ComponentChildren][] = [
    [
      t("detail.name"),
      <span class="mono" title={slice.name}>
        {sliceWord(slice.name)}
      </span>,
    ],
    [
      t("detail.kind"),
      [...new Set([slice.kind, slice.category])].filter((s) => s !== "").join(" \u00b7 "),
    ],
    [
      t("detail.where"),
      [rankWord(rank?.label ?? ""), slice.process, slice.track]
        .filter((s) => s !== "")
        .join(" \u203a "),
    ],
    [
      t("detail.start"),
      <>
        {duration(slice.start + shift)}{" "}
        <span class="quiet">
          {exact(slice.start + shift)}
          {moved === 0 ? "" : `, ${t("timeline.moved-by", signedDuration(moved))}`}
        </span>
      </>,
    ],
    [
      t("detail.wall"),
      <>
        {duration(slice.dur)} <span class="quiet">{exact(slice.dur)}</span>
      </>,
    ],
  ];
  if (slice.self_ns !== null) {
    rows.push([
      t("detail.self"),
      <>
        {duration(slice.self_ns)}
        {share} <span class="quiet">{exact(slice.self_ns)}</span>
      </>,
    ]);
  }
  if (slice.step !== null) {
    rows.push([t("detail.step"), String(slice.step)]);
  }
  rows.push(
    [t("detail.raw-start"), absoluteText(slice, slice.start)],
    [t("detail.raw-end"), absoluteText(slice, slice.end)],
    [t("detail.source"), <span class="mono">{slice.source}</span>],
  );
  return (
    <div class="detail">
      <section>
        <Fields rows={rows} />
      </section>
      <section>
        <h3>{t("detail.args")}</h3>
        {slice.args.length === 0 ? (
          <p class="quiet">{t("detail.no-args")}</p>
        ) : (
          <Fields
            hintOf={argumentHint}
            rows={slice.args.map(([key, value]): [string, ComponentChildren] => [
              key,
              <span class="mono pre">{argText(value)}</span>,
            ])}
          />
        )}
        {slice.stack.length > 0 && (
          <>
            <h3>{t("detail.stack")}</h3>
            <ol class="stack mono">
              {slice.stack.map((frame, i) => (
                <li key={i}>{frame}</li>
              ))}
            </ol>
          </>
        )}
      </section>
      <section>
        <Links links={slice.links} />
        {slice.links.length === 0 && (
          <>
            <p class="quiet">{t("detail.no-links")}</p>
            {(rank === undefined ? [] : whyNoLinks(rank, slice.kind)).map((why) => (
              <p class="quiet" key={why}>
                {why}
              </p>
            ))}
          </>
        )}
        {slice.links_left_out > 0 && <p class="quiet">{t("detail.more", slice.links_left_out)}</p>}
        <Peers slice={slice} />
        {slice.parents.length > 0 && (
          <>
            <h3>{t("detail.inside")}</h3>
            <ul class="refs">
              {slice.parents.map((p, i) => (
                <li key={i}>
                  <RefButton to={p} />
                </li>
              ))}
            </ul>
          </>
        )}
        {slice.children.n > 0 && (
          <>
            <h3>{t("detail.contains", slice.children.n)}</h3>
            <ul class="refs">
              {slice.children.first.map((p, i) => (
                <li key={i}>
                  <RefButton to={p} />
                </li>
              ))}
            </ul>
            {slice.children.n > slice.children.first.length && (
              <p class="quiet">
                {t("detail.more", slice.children.n - slice.children.first.length)}
              </p>
            )}
          </>
        )}
      </section>
    </div>
  );
}
