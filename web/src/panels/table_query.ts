/** Order and filter of one table: of the address where it has a key there, else its own. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useAtom } from "../base/atom";
import type { Query } from "./table_model";
import type { TableOptions } from "./table_options";
import { keepTableState, sameQuery, tableStates } from "./table_state";

export interface QueryState {
  query: Query;
  set: (query: Query) => void;
  canReset: boolean;
  reset: () => void;
  /** The row of filters below the headers. */
  filterShown: boolean;
  showFilter: (on: boolean) => void;
  /** Where typing goes when the user opens that row: the column that was filtered last, "" for the first one. null: it was there. */
  firstFilter: string | null;
}

const isFiltering = (query: Query): boolean => Object.keys(query.filter).length > 0;

/** Something is typed into a filter. */
export const isFiltered = (query: Query): boolean =>
  Object.values(query.filter).some((text) => text !== "");

export function useQuery(options: TableOptions): QueryState {
  const initial: Query = { sort: options.sort ?? null, filter: options.filter ?? {} };
  const kept = useAtom(tableStates)[options.urlKey ?? ""];
  const [query, setOwn] = useState<Query>(kept ?? initial);
  const [filterShown, setFilterShown] = useState(isFiltering(query));
  const [isOpened, setOpened] = useState(false);
  const last = useRef("");
  const set = (next: Query): void => {
    last.current =
      Object.keys(next.filter).find((name) => next.filter[name] !== query.filter[name]) ??
      last.current;
    setOwn(next);
    if (options.urlKey !== undefined) {
      keepTableState(options.urlKey, next, initial);
    }
  };
  // The user went back in the history.
  useEffect(() => {
    const now = kept ?? initial;
    if (options.urlKey !== undefined && !sameQuery(now, query)) {
      setOwn(now);
      setFilterShown(isFiltering(now));
      setOpened(false);
    }
  }, [kept]);
  return {
    query,
    set,
    canReset: !sameQuery(query, { ...initial, filter: {} }),
    reset: () => set({ ...initial, filter: {} }),
    filterShown,
    firstFilter: isOpened ? last.current : null,
    showFilter: (on) => {
      setFilterShown(on);
      setOpened(on);
      if (!on) {
        set({ ...query, filter: {} });
      }
    },
  };
}
