/** System View: what the program works out of one rank, for all of its time or for a span (T-32, T-60 to T-68). */
import { useEffect, useState } from "preact/hooks";
import { get, type Params } from "../api/client";
import type { Rank, ViewInfo } from "../api/types";
import { Atom, useAtom } from "../base/atom";
import type { Ns } from "../base/ns";
import { fail } from "../model/notices";
import { analysisSpan, ranks, selected, shiftOf } from "../model/session";
import { systemRank, systemView } from "../model/timeline";
import { language, rankWord, spoken, t, viewTitle } from "../words";
import { partName, partPath } from "../words/parts";
import { Empty, Loading } from "./empty";
import { Thinned } from "./thinned";
import { DataTable, type TableRow } from "./table";

/** Views whose rows are parts of the device's time, and what they call them. */
const NAMED_PARTS: Readonly<Record<string, (row: TableRow) => string>> = {
  overall: (row) => partName(String(row.get("path")), String(row.get("name"))),
  overlap_sum: (row) => partName(String(row.get("name")), String(row.get("name"))),
};

const views = new Atom<ViewInfo[] | null>(null);
let isAsked = false;

export function useViews(): ViewInfo[] | null {
  const known = useAtom(views);
  useEffect(() => {
    if (!isAsked) {
      isAsked = true;
      get<{ views: ViewInfo[] }>("views").then(
        (reply) => views.set(reply.views),
        (error: unknown) => {
          isAsked = false;
          fail(error);
        },
      );
    }
  }, []);
  return known;
}

/** The span in the time of a rank, as routes take it; nothing where all is meant. */
export function spanParams(span: { from: Ns; to: Ns } | null, rank: Rank): Params {
  const shift = shiftOf(rank);
  return span === null
    ? {}
    : { from: Math.round(span.from - shift), to: Math.round(span.to - shift) };
}

export function SystemView() {
  useAtom(language);
  const known = useViews();
  const all = useAtom(ranks);
  const span = useAtom(analysisSpan);
  const wanted = useAtom(systemRank);
  const name = useAtom(systemView);
  const chosen = useAtom(selected);
  const [leaf, setLeaf] = useState<string | null>(null);
  useEffect(() => setLeaf(null), [name, wanted]);
  const ready = all.filter((r) => r.state === "ready");
  const rank =
    ready.find((r) => r.key === wanted) ?? ready.find((r) => r.key === chosen?.rank) ?? ready[0];
  if (known === null) {
    return <Loading />;
  }
  if (rank === undefined) {
    return <Empty title={t("system.no-rank")} />;
  }
  const offered = known.filter(
    (v) => v.tab === "timeline" && v.of === "rank" && !v.params.includes("leaf"),
  );
  const leaves = known.find((v) => v.tab === "timeline" && v.params.includes("leaf"));
  const params: Params = { rank: rank.key, ...spanParams(span, rank) };
  const view = offered.find((v) => v.name === name) ?? offered[0];
  const pick = (row: TableRow): void =>
    setLeaf(row.get("path") === null ? null : String(row.get("path")));
  return (
    <div class="system">
      <aside>
        {ready.length > 1 && (
          <label>
            {t("system.rank")}{" "}
            <select value={rank.key} onChange={(e) => systemRank.set(e.currentTarget.value)}>
              {ready.map((r) => (
                <option key={r.key} value={r.key}>
                  {rankWord(r.label)}
                </option>
              ))}
            </select>
          </label>
        )}
        <ul role="tablist" aria-orientation="vertical">
          {offered.map((v) => (
            <li key={v.name}>
              <button
                type="button"
                role="tab"
                class="ref"
                aria-selected={v.name === view?.name}
                onClick={() => systemView.set(v.name)}
              >
                {viewTitle(v)}
              </button>
            </li>
          ))}
        </ul>
      </aside>
      {view !== undefined && (
        <div class="below-note">
          <Thinned ranks={[rank]} />
          <div class="split">
            <DataTable
              path="view"
              params={{
                ...params,
                ...(view.params.includes("lang") ? spoken() : {}),
                name: view.name,
              }}
              title={viewTitle(view)}
              rank={rank.key}
              urlKey={`system ${view.name}`}
              {...(view.name === "advice" ? { empty: <Empty title={t("findings.none")} /> } : {})}
              {...(NAMED_PARTS[view.name] === undefined ? {} : { nameOf: NAMED_PARTS[view.name] })}
              {...(leaves !== undefined && view.name === "overall"
                ? { onRow: pick, isMarked: (row: TableRow) => row.get("path") === leaf }
                : {})}
            />
            {leaf !== null && leaves !== undefined && view.name === "overall" && (
              <DataTable
                path="view"
                params={{ ...params, name: leaves.name, leaf }}
                title={partPath(leaf)}
                rank={rank.key}
              />
            )}
          </div>
        </div>
      )}
    </div>
  );
}
