/** What is asked on the What-if page; the address holds it. */
import { Atom } from "../base/atom";
import { urlChanged } from "../model/url_state";

export interface Question {
  without: string;
  scale: string;
  layers: string;
  most: string;
  /** "1": plans may leave stages without layers. */
  empty: string;
  /** Number of the plan that is shown in full; "": the first. */
  row: string;
}

export const NOTHING: Question = {
  without: "",
  scale: "",
  layers: "",
  most: "",
  empty: "",
  row: "",
};
export const question = new Atom<Question>(NOTHING);

export const part = {
  prefix: "wi",
  read: (): Record<string, string> =>
    Object.fromEntries(Object.entries(question.get()).filter(([, text]) => text !== "")),
  write: (from: Record<string, string>): void =>
    question.set({
      without: from.without ?? "",
      scale: from.scale ?? "",
      layers: from.layers ?? "",
      most: from.most ?? "",
      empty: from.empty === "1" ? "1" : "",
      row: /^\d+$/.test(from.row ?? "") ? from.row : "",
    }),
};

export function ask(change: Partial<Question>): void {
  question.update((now) => ({ ...now, ...change }));
  urlChanged();
}

export const askedOf = (q: Question): Record<string, string> => ({
  ...(q.without === "" ? {} : { without: q.without }),
  ...(q.scale === "" ? {} : { scale: q.scale }),
});
