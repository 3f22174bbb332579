/** How the page looks: dark or light, and the colours, with what the user changed. CSS has them as variables. */
import type { Session } from "../api/types";
import { Atom } from "../base/atom";
import { keep, kept } from "../base/kept";
import { textOn, type ViewerTheme } from "../base/theme";
import { session } from "./session";

export type Look = "system" | "light" | "dark";
export const LOOKS: Look[] = ["system", "light", "dark"];

/** Colours that the user chose, by the name of the colour ("kinds.0", "lanes.2", "accent"). */
export type Changes = Readonly<Record<string, string>>;

const FALLBACK: { light: ViewerTheme; dark: ViewerTheme } = {
  light: {
    page: "#ffffff",
    panel: "#f6f7f9",
    line: "#e3e7eb",
    ink: "#14181d",
    quiet: "#5c6670",
    hatch: "#cbd2d9",
    accent: "#2f6bd0",
    kinds: [],
    phases: [],
    lanes: [],
    tints: [],
  },
  dark: {
    page: "#14181d",
    panel: "#1c2127",
    line: "#2b323a",
    ink: "#e8ebee",
    quiet: "#9aa4ae",
    hatch: "#3d4650",
    accent: "#6fa2f5",
    kinds: [],
    phases: [],
    lanes: [],
    tints: [],
  },
};

const systemDark =
  typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;

export const look = new Atom<Look>(kept<Look>("look", "system"));
export const isDark = new Atom<boolean>(false);
/** By "light" and "dark": a colour changed on one ground is left alone on the other. */
export const changes = new Atom<{ light: Changes; dark: Changes }>(
  kept("colours", { light: {}, dark: {} }),
);
/** What everything is drawn with now. */
export const theme = new Atom<ViewerTheme>(FALLBACK.light);

export function original(dark: boolean): ViewerTheme {
  const known: Session["theme"] | undefined = session.get()?.theme;
  return { ...FALLBACK[dark ? "dark" : "light"], ...known?.[dark ? "dark" : "light"] };
}

const LISTS = ["kinds", "phases", "lanes", "tints"] as const;

export function changed(base: ViewerTheme, by: Changes): ViewerTheme {
  const out: ViewerTheme = { ...base };
  for (const list of LISTS) {
    out[list] = base[list].map((colour, i) => by[`${list}.${i}`] ?? colour);
  }
  out.accent = by.accent ?? base.accent;
  return out;
}

/** --page, --panel, ... ; --computing, --communication, --exposed, --free; --kind0..8, --phase0..6, --tint0..11, and the ink
 * that can be read on each as --kind0-ink. */
function writeVariables(of: ViewerTheme, dark: boolean): void {
  const { style, dataset } = document.documentElement;
  dataset.theme = dark ? "dark" : "light";
  style.colorScheme = dark ? "dark" : "light";
  const put = (name: string, colour: string): void => {
    style.setProperty(`--${name}`, colour);
    style.setProperty(`--${name}-ink`, textOn(colour));
  };
  for (const name of ["page", "panel", "line", "ink", "quiet", "hatch"] as const) {
    style.setProperty(`--${name}`, of[name]);
  }
  put("accent", of.accent);
  of.kinds.forEach((colour, i) => put(`kind${i}`, colour));
  of.phases.forEach((colour, i) => put(`phase${i}`, colour));
  of.tints.forEach((colour, i) => put(`tint${i}`, colour));
  ["computing", "communication", "exposed", "free"].forEach(
    (name, i) => of.lanes[i] !== undefined && put(name, of.lanes[i]),
  );
}

function apply(): void {
  const dark = look.get() === "dark" || (look.get() === "system" && (systemDark?.matches ?? false));
  const by = changes.get()[dark ? "dark" : "light"];
  const now = changed(original(dark), by);
  writeVariables(now, dark);
  isDark.set(dark);
  theme.set(now);
}

export function changeColour(name: string, colour: string | null): void {
  const ground = isDark.get() ? "dark" : "light";
  const rest = { ...changes.get()[ground] };
  delete rest[name];
  changes.set({ ...changes.get(), [ground]: colour === null ? rest : { ...rest, [name]: colour } });
}

export function resetColours(): void {
  changes.set({ light: {}, dark: {} });
}

/** Follows the choice, the system and the session; once, when the page starts. */
export function followLook(): void {
  look.listen(() => keep("look", look.get()));
  changes.listen(() => keep("colours", changes.get()));
  look.listen(apply);
  changes.listen(apply);
  session.listen(apply);
  systemDark?.addEventListener("change", apply);
  apply();
}

/** Colours of the four overlap lanes. */
export const LANE = { computing: 0, communication: 1, exposed: 2, free: 3 } as const;
