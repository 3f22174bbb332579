/** Find: what the search found: names, lanes, and the list of all (T-29, T-30). */
import type { Rank } from "../api/types";
import { useAtom } from "../base/atom";
import { grouped } from "../base/format";
import { counts, foundIn, listParamsOf, mistake, place, query, search } from "../model/search";
import { goto, offsets, rankOf, ranks, selected } from "../model/session";
import { laneName } from "../model/shown";
import { rankWord, sliceWord, t } from "../words";
import { Empty } from "./empty";
import { DataTable } from "./table";

/** Where, as long as not all ranks are read: the table says how many. */
function whereFound(all: readonly Rank[]): string {
  const nReady = all.filter((r) => r.state === "ready").length;
  return nReady === all.length ? t("find.title") : t("find.title-read", nReady, all.length);
}

export function Find() {
  const q = useAtom(query);
  const found = useAtom(counts);
  const wrong = useAtom(mistake);
  const lane = useAtom(foundIn);
  const all = useAtom(ranks);
  useAtom(offsets);
  const at = useAtom(selected);
  const n = useAtom(place);
  if (wrong !== null) {
    return (
      <Empty title={t("find.wrong", q.text)}>
        <p class="bad">{wrong}</p>
      </Empty>
    );
  }
  if (q.text === "" || found === null) {
    return (
      <Empty title={t("find.none")}>
        <p class="quiet">{t("find.none-hint")}</p>
      </Empty>
    );
  }
  if (found.total === 0) {
    return <Empty title={t("find.nothing", q.text)} />;
  }
  const params = listParamsOf(q, lane);
  return (
    <div class="find">
      <aside aria-label={t("find.where")}>
        <h3>{t("find.names")}</h3>
        <ul>
          {found.names.map(([text, tint, n]) => (
            <li key={text}>
              <button
                type="button"
                class="ref"
                onClick={() =>
                  void search({ ...q, text, regex: false, word: false, matchCase: true })
                }
              >
                <span class="swatch" style={{ background: `var(--tint${tint})` }} />
                <span class="mono">{sliceWord(text)}</span>
                <span class="quiet">{grouped(String(n))}</span>
              </button>
            </li>
          ))}
        </ul>
        <h3>{t("find.lanes")}</h3>
        <ul>
          <li>
            <button
              type="button"
              class="ref"
              aria-pressed={lane === null}
              onClick={() => foundIn.set(null)}
            >
              <span>{t("find.all")}</span>
              <span class="quiet">{grouped(String(found.total))}</span>
            </button>
          </li>
          {found.ranks.flatMap((r) =>
            r.lanes.map(([number, n]) => (
              <li key={`${r.rank} ${number}`}>
                <button
                  type="button"
                  class="ref"
                  aria-pressed={lane?.rank === r.rank && lane.lane === number}
                  onClick={() => {
                    foundIn.set({ rank: r.rank, lane: number });
                    goto.set({ lane: { rank: r.rank, lane: number } });
                  }}
                >
                  <span>{`${rankWord(rankOf(r.rank)?.label ?? r.rank)} \u203a ${laneName(r.rank, number)}`}</span>
                  <span class="quiet">{grouped(String(n))}</span>
                </button>
              </li>
            )),
          )}
        </ul>
      </aside>
      <DataTable
        path="search/table"
        params={params}
        title={whereFound(all)}
        name="found"
        follow={
          at === null
            ? undefined
            : {
                key: `${at.rank}:${at.slice}`,
                is: (row) => row.get("slice") === at.slice && row.get("rank") === at.rank,
                at: lane === null ? n : -1,
              }
        }
        urlKey="found"
      />
    </div>
  );
}
