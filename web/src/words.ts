/** Every text of the viewer, English and Chinese. Terms of the field stay as the field writes them. One section a page or
 * panel; keys are "section.what". `{0}` is filled in by t(). */
import { Atom } from "./base/atom";

const WORDS = {
  // --- frame ---------------------------------------------------------------------------------------------------------
  "tab.timeline": ["Timeline", "时间线"],
  "tab.pipeline": ["Pipeline", "流水线"],
  "tab.summary": ["Summary", "概览"],
  "tab.operator": ["Operator", "算子"],
  "tab.memory": ["Memory", "内存"],
  "tab.communication": ["Communication", "通信"],
  // --- timeline ------------------------------------------------------------------------------------------------------
  // --- timeline panels -----------------------------------------------------------------------------------------------
  // --- pipeline ------------------------------------------------------------------------------------------------------
  // --- other pages ---------------------------------------------------------------------------------------------------
  // --- end -----------------------------------------------------------------------------------------------------------
} satisfies Record<string, [english: string, chinese: string]>;

export type Word = keyof typeof WORDS;
export type Language = "en" | "zh";

export const language = new Atom<Language>("en");

export function t(word: Word, ...values: (string | number)[]): string {
  const text: string = WORDS[word][language.get() === "en" ? 0 : 1];
  return text.replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));
}
