/** What the Communication page looks at; the address holds it. */
import { Atom } from "../base/atom";
import { urlChanged } from "../model/url_state";
import { TOTAL, type Choice } from "./communication_model";

export const VALUES = ["bandwidth", "size", "time", "transport"] as const;
export type Value = (typeof VALUES)[number];

export const VIEWS = ["matrix", "duration", "advice"] as const;
export type View = (typeof VIEWS)[number];

export interface State extends Choice {
  view: View;
  value: Value;
  inner: "" | "1";
  /** The matrix has the colours of its values also beside a baseline, not of the differences. */
  plain: "" | "1";
  /** The range of the matrix' colours, as typed; "": as far as its values go. */
  least: string;
  most: string;
}

const FIRST: State = {
  step: "",
  group: "",
  op: TOTAL,
  view: "matrix",
  value: "bandwidth",
  inner: "",
  plain: "",
  least: "",
  most: "",
};
export const state = new Atom<State>(FIRST);
let isChosen = false;
/** Nobody asked for the view that is shown: captures without a matrix open with durations. */
export const isUnasked = (): boolean => !isChosen;

export function chooseView(view: View): void {
  isChosen = true;
  change({ view });
}

export const part = {
  prefix: "comm",
  read: (): Record<string, string> =>
    Object.fromEntries(
      Object.entries(state.get()).filter(([key, value]) => value !== FIRST[key as keyof State]),
    ),
  write: (from: Record<string, string>): void => {
    isChosen ||= from.view !== undefined;
    state.set({
      step: from.step ?? "",
      group: from.group ?? "",
      op: from.op ?? TOTAL,
      view: VIEWS.find((v) => v === from.view) ?? "matrix",
      value: VALUES.find((v) => v === from.value) ?? "bandwidth",
      inner: from.inner === "1" ? "1" : "",
      plain: from.plain === "1" ? "1" : "",
      least: from.least ?? "",
      most: from.most ?? "",
    });
  },
};

/** What is shown. A range of colours is one of these values: others begin with their own. */
export function change(to: Partial<State>): void {
  const isOther = to.value !== undefined || to.plain !== undefined;
  state.set({ ...state.get(), ...(isOther ? { least: "", most: "" } : {}), ...to });
  urlChanged();
}
