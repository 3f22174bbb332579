/** What lies over the page now: one dialog at a time. */
import { Atom } from "../base/atom";

export type Over = "help" | "palette" | "settings" | "capture" | "notes" | "views" | null;
export const over = new Atom<Over>(null);
