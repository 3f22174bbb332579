/** Which captures are compared, and what of them is looked at; the address holds it. */
import { Atom } from "../base/atom";
import { urlChanged } from "../model/url_state";
import { NAMES, type Named } from "./compare_model";

export interface CompareState {
  /** The number of a capture that is served; -1: the first that is not the baseline (model/baseline.ts). */
  now: number;
  table: Named;
  /** The row whose places are shown. */
  name: string;
  /** Its shapes or group, where the table tells rows of one name apart. */
  detail: string;
  /** The rank that stands beside that of the baseline; "": the first. */
  rank: string;
}

const FRESH: CompareState = { now: -1, table: "KernelCompare", name: "", detail: "", rank: "" };
export const comparing = new Atom<CompareState>(FRESH);

const numberOf = (text: string | undefined): number =>
  /^\d+$/.test(text ?? "") ? Number(text) : -1;

export const part = {
  prefix: "cmp",
  read: (): Record<string, string> => {
    const state = comparing.get();
    return Object.fromEntries(
      (Object.keys(FRESH) as (keyof CompareState)[])
        .filter((key) => state[key] !== FRESH[key])
        .map((key) => [key, String(state[key])]),
    );
  },
  write: (from: Record<string, string>): void =>
    comparing.set({
      now: numberOf(from.now),
      table: NAMES.find((name) => name === from.table) ?? "KernelCompare",
      name: from.name ?? "",
      detail: from.detail ?? "",
      rank: from.rank ?? "",
    }),
};

export function compare(change: Partial<CompareState>): void {
  comparing.update((state) => ({ ...state, ...change }));
  urlChanged();
}
