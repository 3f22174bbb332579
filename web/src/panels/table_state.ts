/** Order and filters of tables that the address remembers, by a short key; only what differs from how the table begins. */
import { Atom } from "../base/atom";
import type { Query } from "./table_model";

export const tableStates = new Atom<Readonly<Record<string, Query>>>({});

export function keepTableState(key: string, query: Query, first: Query): void {
  const { [key]: known, ...rest } = tableStates.get();
  if (sameQuery(query, first)) {
    if (known !== undefined) {
      tableStates.set(rest);
    }
  } else if (known === undefined || !sameQuery(known, query)) {
    tableStates.set({ ...rest, [key]: query });
  }
}

const given = (query: Query): [string, string][] =>
  Object.entries(query.filter)
    .filter(([, text]) => text !== "")
    .sort(([a], [b]) => (a < b ? -1 : 1));

export const sameQuery = (a: Query, b: Query): boolean =>
  a.sort?.column === b.sort?.column &&
  a.sort?.desc === b.sort?.desc &&
  JSON.stringify(given(a)) === JSON.stringify(given(b));

/** As it stands in the address. */
export const formatQuery = (query: Query): string =>
  JSON.stringify([
    query.sort === null ? 0 : [query.sort.column, query.sort.desc ? 1 : 0],
    Object.fromEntries(given(query)),
  ]);

export function parseQuery(text: string): Query | null {
  try {
    const [sort, filter] = JSON.parse(text) as [0 | [string, 0 | 1], Record<string, unknown>];
    const texts = Object.entries(filter).filter(
      (f): f is [string, string] => typeof f[1] === "string",
    );
    return {
      sort: Array.isArray(sort) ? { column: String(sort[0]), desc: sort[1] === 1 } : null,
      filter: Object.fromEntries(texts),
    };
  } catch {
    return null; // somebody edited the address
  }
}

/** For the address (app/url_state.ts). */
export const tableUrl = {
  prefix: "tb",
  read: (): Record<string, string> =>
    Object.fromEntries(
      Object.entries(tableStates.get()).map(([key, query]) => [key, formatQuery(query)]),
    ),
  write: (state: Record<string, string>): void => {
    const entries = Object.entries(state).map(([key, text]) => [key, parseQuery(text)] as const);
    tableStates.set(
      Object.fromEntries(entries.filter((e): e is readonly [string, Query] => e[1] !== null)),
    );
  },
};
