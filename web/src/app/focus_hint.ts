/** What the pointer would say of what has the focus, for those who work with keys: hints of a control, of a figure, exact values of
 * the row of a table. */
import { el } from "../base/dom";
import { notify } from "../model/notices";
import { t } from "../words";

type Line = [name: string, text: string];

const titleOf = (e: Element): string => e.getAttribute("title") ?? "";
/** Buttons that stand in a cell or a figure say what they are themselves. */
const isOwn = (e: Element): boolean => e.tagName !== "BUTTON" && titleOf(e) !== "";

/** Of a table those of the row that the cursor is on, by the heads of their columns. */
function rowLines(grid: Element): Line[] {
  const names = [...grid.querySelectorAll("[role=columnheader] .head-name")];
  const cells = [...grid.querySelectorAll(".grid-row.focus [role=gridcell]")];
  return cells.flatMap((cell, i): Line[] =>
    isOwn(cell) ? [[names[i]?.textContent ?? "", titleOf(cell)]] : [],
  );
}

/** A field's own hint may be that of its label. */
function linesOf(e: Element): Line[] {
  if (e.matches("[role=grid], [role=treegrid]")) {
    return rowLines(e);
  }
  const own = [e, e.closest("label")].find((one) => one !== null && titleOf(one) !== "");
  return own === undefined || own === null
    ? []
    : [[own.querySelector("dt")?.textContent ?? "", titleOf(own)]];
}

/** Below what it is of, or above where there is no room; within the window. */
function place(box: HTMLElement, at: DOMRect): void {
  const { width, height } = box.getBoundingClientRect();
  const below = at.bottom + 4;
  const top = below + height > innerHeight ? Math.max(4, at.top - height - 4) : below;
  box.style.left = `${Math.max(4, Math.min(at.left, innerWidth - width - 4))}px`;
  box.style.top = `${top}px`;
}

/** It goes with the next key, click, scroll or change of focus. */
function goesAway(box: HTMLElement): void {
  const stop = new AbortController();
  const away = (): void => {
    stop.abort();
    box.remove();
  };
  for (const name of ["keydown", "pointerdown", "wheel", "focusin", "hashchange"]) {
    addEventListener(name, away, { capture: true, signal: stop.signal });
  }
}

export function showFocusHint(): void {
  const focused = document.activeElement;
  const lines = focused === null ? [] : linesOf(focused);
  if (focused === null || lines.length === 0) {
    notify("info", t("hint.none"));
    return;
  }
  const rows = lines.map(([name, text]) =>
    el("tr", {}, name === "" ? null : el("th", {}, name), el("td", {}, text)),
  );
  const box = el("div", { class: "hover-tip focus-tip", role: "status" }, el("table", {}, ...rows));
  document.body.append(box);
  const row = focused.querySelector(".grid-row.focus");
  place(box, (row ?? focused).getBoundingClientRect());
  goesAway(box);
}
