/** What the pointer is on, said beside it. */
import { el } from "../base/dom";
import type { Theme } from "../base/theme";
import type { Details } from "./details";
import { colourOf } from "./panels";

export class Tip {
  readonly element = el("div", { class: "pp-tip", role: "tooltip", hidden: "" });

  hide(): void {
    this.element.hidden = true;
  }

  /** `isRead`: who sees no pointer hears it. */
  show(details: Details, theme: Theme, clientX: number, clientY: number, isRead = false): void {
    this.element.setAttribute("aria-live", isRead ? "polite" : "off");
    const swatch = el("i", {
      class: details.look === null ? "pp-swatch pp-wait pp-lines3" : "pp-swatch",
    });
    if (details.look !== null) {
      swatch.style.background = colourOf(theme, details.look);
    }
    this.element.replaceChildren(
      el(
        "div",
        { class: "pp-tiphead" },
        swatch,
        el("b", {}, details.title),
        el("span", {}, details.kind),
      ),
      el("table", {}, ...details.lines.map(lineOf)),
    );
    this.element.hidden = false;
    this.place(clientX, clientY);
  }

  /** Beside the pointer, inside the window. */
  private place(clientX: number, clientY: number): void {
    const box = this.element.getBoundingClientRect();
    const left =
      clientX + 16 + box.width > window.innerWidth ? clientX - 16 - box.width : clientX + 16;
    const top =
      clientY + 16 + box.height > window.innerHeight ? clientY - 12 - box.height : clientY + 16;
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  }
}

const lineOf = ([name, value, exact]: Details["lines"][number]): HTMLElement =>
  el("tr", {}, el("th", {}, name), el("td", {}, value), el("td", { class: "quiet" }, exact));
