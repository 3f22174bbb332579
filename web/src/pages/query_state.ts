/** What is asked on the SQL page; the address holds it, so that a link asks it again. */
import { Atom } from "../base/atom";
import { urlChanged } from "../model/url_state";

export const PLOTS = ["bars", "line", "points"] as const;
export type PlotKind = (typeof PLOTS)[number];

/** Two columns of the result; "" for x: the rows in their order. */
export interface Plot {
  kind: PlotKind;
  x: string;
  y: string;
}

/** The query that was asked last; `run` grows when it is asked again. */
export interface Asked {
  sql: string;
  run: number;
}

/** What stands in the editor, asked or not. */
export const draft = new Atom("");
export const asked = new Atom<Asked | null>(null);
export const plot = new Atom<Plot | null>(null);

export function ask(sql: string): void {
  if (sql.trim() !== "") {
    if (asked.get()?.sql !== sql) {
      plot.set(null);
    }
    asked.set({ sql, run: (asked.get()?.run ?? 0) + 1 });
    urlChanged();
  }
}

/** Gives up what is not answered yet. */
export function giveUp(): void {
  asked.set(null);
  urlChanged();
}

export function show(next: Plot | null): void {
  plot.set(next);
  urlChanged();
}

const isKind = (text: string | undefined): text is PlotKind => PLOTS.some((kind) => kind === text);

export const part = {
  prefix: "sql",
  read: (): Record<string, string> => {
    const shown = plot.get();
    const of = asked.get();
    return {
      ...(of === null ? {} : { q: of.sql }),
      ...(of === null || shown === null ? {} : { plot: shown.kind, x: shown.x, y: shown.y }),
    };
  },
  write: (from: Record<string, string>): void => {
    const { q, plot: kind, x, y } = from;
    if (q === undefined) {
      asked.set(null);
    } else if (q !== asked.get()?.sql) {
      asked.set({ sql: q, run: (asked.get()?.run ?? 0) + 1 });
      draft.set(q);
    }
    plot.set(isKind(kind) && y !== undefined ? { kind, x: x ?? "", y } : null);
  },
};
