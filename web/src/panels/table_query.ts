/** Order and filter of one table: of the address where it has a key there, else its own. */
import { useEffect, useState } from "preact/hooks";
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
  const set = (next: Query): void => {
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
    }
  }, [kept]);
  return {
    query,
    set,
    canReset: !sameQuery(query, { ...initial, filter: {} }),
    reset: () => set({ ...initial, filter: {} }),
    filterShown,
    showFilter: (on) => {
      setFilterShown(on);
      if (!on) {
        set({ ...query, filter: {} });
      }
    },
  };
}
