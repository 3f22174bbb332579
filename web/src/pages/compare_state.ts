/** Which captures are compared, and what of them is looked at; the address holds it. */
import { Atom } from "../base/atom";
import { urlChanged } from "../model/url_state";
import { NAMES, type Named } from "./compare_model";
import { ALL, type Side, type Sides } from "./compare_sides";

export interface CompareState {
  /** The number of a capture that is served; -1: the first that is not the baseline (model/baseline.ts). */
  now: number;
  /** The other one; -1: the baseline. */
  base: number;
  /** Of each side a rank and a step by their numbers, "all", or "": not chosen. */
  nowRank: string;
  nowStep: string;
  baseRank: string;
  baseStep: string;
  table: Named;
  /** The row whose places are shown. */
  name: string;
  /** Its shapes or group, where the table tells rows of one name apart. */
  detail: string;
  /** The rank that stands beside that of the baseline; "": the first. */
  rank: string;
}

const FRESH: CompareState = {
  now: -1,
  base: -1,
  nowRank: "",
  nowStep: "",
  baseRank: "",
  baseStep: "",
  table: "KernelCompare",
  name: "",
  detail: "",
  rank: "",
};
export const comparing = new Atom<CompareState>(FRESH);

const partOf = (text: string | undefined): string =>
  text === ALL || /^\d+$/.test(text ?? "") ? text! : "";
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
      base: numberOf(from.base),
      nowRank: partOf(from.nowRank),
      nowStep: partOf(from.nowStep),
      baseRank: partOf(from.baseRank),
      baseStep: partOf(from.baseStep),
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

/** That rank beside itself in the other capture, or all of them ("all"), where steps and what is looked at stay. */
export const compareRank = (rank: string): void => compare({ nowRank: rank, baseRank: rank });

/** What is chosen of each side becomes part of the address. */
export const chooseParts = (now: Side, base: Side): Partial<CompareState> => ({
  nowRank: now.rank,
  nowStep: now.step,
  baseRank: base.rank,
  baseStep: base.step,
});

export const partsOf = (state: CompareState, now: number, base: number): Sides => ({
  now: { cluster: now, rank: state.nowRank, step: state.nowStep },
  base: { cluster: base, rank: state.baseRank, step: state.baseStep },
});
