/** Views that people keep: where they looked, under a name, with a note. An address says where (url_state.ts), in which ranks and captures
 * stand by what they are: a view leads to the same place where the same data lie elsewhere. This browser keeps them; a file takes them
 * to others. */
import { Atom } from "../base/atom";
import { keep, kept, onKept } from "../base/kept";
import { captureIds, nameOf, openCaptures } from "./captures";
import { ranks, session } from "./session";
import { goToAddress, hashNow } from "./url_state";

export interface CaptureName {
  id: string;
  name: string;
}

export interface SavedView {
  name: string;
  note: string;
  /** "#tab=timeline&..." */
  address: string;
  /** What was open. */
  captures: CaptureName[];
  /** When it was saved, as ISO 8601 has it: with the address it says which view this is. */
  made: string;
}

/** Says that a file holds views, and how: {"pipescope_views": 1, "views": [...]}. */
const MARK = "pipescope_views";
const VERSION = 1;
/** Of all views; what browsers keep for a page is not much more. */
export const MOST_BYTES = 4 * 2 ** 20;

const isText = (value: unknown): value is string => typeof value === "string";
const isName = (value: unknown): value is CaptureName =>
  isText((value as CaptureName | null)?.id) && isText((value as CaptureName).name);

function isView(value: unknown): value is SavedView {
  const v = value as SavedView | null;
  return (
    [v?.name, v?.note, v?.made].every(isText) &&
    isText(v!.address) &&
    /^#tab=\w+(&|$)/.test(v!.address) &&
    Array.isArray(v!.captures) &&
    v!.captures.every(isName)
  );
}

const readKept = (): SavedView[] => {
  const all = kept<unknown>("views", []);
  return Array.isArray(all) ? all.filter(isView) : [];
};

/** Of all captures, the one that was saved last first. */
export const views = new Atom<readonly SavedView[]>([]);

export function followViews(): void {
  views.set(readKept());
  onKept("views", () => views.set(readKept()));
}

const isSame = (a: SavedView, b: SavedView): boolean =>
  a.made === b.made && a.address === b.address;

/** What is kept is what is there. */
let isKept = true;

/** Other windows may have saved views since. False: this browser keeps none, or has no room; they are there for this visit. */
function change(by: (all: readonly SavedView[]) => SavedView[]): boolean {
  views.set(by(isKept ? readKept() : views.get()));
  return (isKept = keep("views", views.get()));
}

export function saveView(name: string, note: string): boolean {
  const ids = captureIds(ranks.get());
  const captures = openCaptures(session.get()).flatMap(([i, path]) =>
    ids.has(i) ? [{ id: ids.get(i)!, name: nameOf(path) }] : [],
  );
  const made = new Date().toISOString();
  return change((all) => [{ name, note, address: hashNow(), captures, made }, ...all]);
}

export const changeView = (view: SavedView, to: Partial<SavedView>): boolean =>
  change((all) => all.map((v) => (isSame(v, view) ? { ...v, ...to } : v)));

export const deleteView = (view: SavedView): boolean =>
  change((all) => all.filter((v) => !isSame(v, view)));

export const openView = (view: SavedView): void => goToAddress(view.address);

/** What the view shows and is not open now. */
export const lackedBy = (view: SavedView, open: ReadonlySet<string>): CaptureName[] =>
  view.captures.filter(({ id }) => !open.has(id));

/** Views of something that is open; and how many others there are. */
export function viewsOf(
  all: readonly SavedView[],
  open: ReadonlySet<string>,
): { here: SavedView[]; others: number } {
  const here = all.filter((v) => lackedBy(v, open).length < Math.max(1, v.captures.length));
  return { here, others: all.length - here.length };
}

export const viewsFile = (all: readonly SavedView[]): string =>
  JSON.stringify({ [MARK]: VERSION, views: all }, null, 1);

/** null: it is no file of views. */
export function parseViews(text: string): SavedView[] | null {
  try {
    const file = JSON.parse(text) as { views?: unknown; [MARK]?: unknown } | null;
    return file?.[MARK] === VERSION && Array.isArray(file.views) ? file.views.filter(isView) : null;
  } catch {
    return null;
  }
}

/** What is there already is replaced. */
export const addViews = (added: readonly SavedView[]): boolean =>
  change((all) =>
    [...added, ...all.filter((v) => !added.some((a) => isSame(a, v)))].sort(
      (a, b) => -Number(a.made > b.made) || Number(a.made < b.made),
    ),
  );
