/** What the Summary page looks at; the address holds it. */
import { Atom } from "../base/atom";
import { urlChanged } from "../model/url_state";
import type { Setup } from "./parallel_form";
import { FOLDS, INDICATORS, type Fold, type Order } from "./summary_model";
import { metricOf } from "./where_model";

export const TOPS = ["all", "16", "32", "64"] as const;

export const GOES = ["timeline", "pipeline", "details"] as const;

export interface State {
  step: string;
  order: Order;
  top: (typeof TOPS)[number];
  stage: string;
  fold: Fold;
  setup: Setup | null;
  /** Of the grid of ranks: its figure ("": nobody has chosen), whether it has the colours of its values also beside a baseline, the filter of places,
   * the links that are drawn, the rank that is kept, where a click goes, and the range of its colours, as typed. */
  metric: string;
  plain: "" | "1";
  where: string;
  links: string;
  at: string;
  goes: (typeof GOES)[number];
  least: string;
  most: string;
}

const FIRST: State = {
  step: "",
  order: "index",
  top: "all",
  stage: "",
  fold: "none",
  setup: null,
  metric: "",
  plain: "",
  where: "",
  links: "pp,dp",
  at: "",
  goes: "timeline",
  least: "",
  most: "",
};
export const state = new Atom<State>(FIRST);

export const part = {
  prefix: "sum",
  read: (): Record<string, string> => {
    const { setup, ...rest } = state.get();
    const changed = Object.entries(rest).filter(
      ([key, value]) => value !== FIRST[key as keyof State],
    );
    return {
      ...(Object.fromEntries(changed) as Record<string, string>),
      ...(setup === null ? {} : { setup: setupText(setup) }),
    };
  },
  write: (from: Record<string, string>): void =>
    state.set({
      step: from.step ?? "",
      order: (["index", ...INDICATORS] as const).find((o) => o === from.order) ?? "index",
      top: TOPS.find((n) => n === from.top) ?? "all",
      stage: from.stage ?? "",
      fold: FOLDS.find((f) => f === from.fold) ?? "none",
      setup: setupFrom(from.setup),
      metric: (from.metric ?? "") === "" ? "" : metricOf(from.metric).id,
      plain: from.plain === "1" ? "1" : "",
      where: from.where ?? "",
      links: from.links ?? FIRST.links,
      at: from.at ?? "",
      goes: GOES.find((g) => g === from.goes) ?? "timeline",
      least: from.least ?? "",
      most: from.most ?? "",
    }),
};

const setupText = (s: Setup): string =>
  [s.algorithm, s.sizes.pp, s.sizes.tp, s.sizes.cp, s.sizes.dp, s.sizes.ep, s.sizes.moetp].join(
    ",",
  );

function setupFrom(text: string | undefined): Setup | null {
  const [algorithm, ...sizes] = (text ?? "").split(",");
  const n = sizes.map(Number);
  return n.length !== 6 || n.some((v) => !Number.isInteger(v) || v < 1)
    ? null
    : {
        algorithm: algorithm as Setup["algorithm"],
        sizes: { pp: n[0], tp: n[1], cp: n[2], dp: n[3], ep: n[4], moetp: n[5] },
      };
}

export function change(to: Partial<State>): void {
  state.set({ ...state.get(), ...to });
  urlChanged();
}
