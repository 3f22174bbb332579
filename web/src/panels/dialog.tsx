/** What lies over the page: dialogs that take the focus, and menus that hang from a button. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../words";
import { Icon, type IconName } from "./icons";

export interface DialogProps {
  title: string;
  onClose: () => void;
  wide?: boolean;
  children?: ComponentChildren;
}

/** The browser keeps the focus inside and closes with Escape. */
export function Dialog({ title, onClose, wide, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide === true ? "dialog wide-dialog" : "dialog"}
      aria-label={title}
      onClose={onClose}
      onKeyDown={(e) => e.stopPropagation()}
      onClick={(e) => e.target === ref.current && onClose()}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="flat" aria-label={t("frame.close")} onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        <div class="dialog-body">{children}</div>
      </div>
    </dialog>
  );
}

export interface MenuProps {
  label: string;
  icon?: IconName;
  /** Stands in the button instead of the sign, or beside it. */
  text?: ComponentChildren;
  align?: "left" | "right";
  /** Class of the button beside "flat". */
  class?: string;
  children: (close: () => void) => ComponentChildren;
}

/** A button and what it opens; closed by Escape, by a click elsewhere, or by its content. */
export function Menu({ label, icon, text, align = "right", class: extra, children }: MenuProps) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [place, setPlace] = useState<{
    top: number;
    left?: number;
    right?: number;
    maxHeight: number;
  } | null>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  useLayoutEffect(() => {
    if (open && button.current !== null) {
      const at = button.current.getBoundingClientRect();
      const below = innerHeight - at.bottom - 16;
      const top = at.bottom + 4;
      setPlace(
        align === "right"
          ? { top, right: Math.max(4, innerWidth - at.right), maxHeight: below }
          : { top, left: at.left, maxHeight: below },
      );
    }
  }, [open]);
  useEffect(() => {
    if (!open) {
      return undefined;
    }
    const away = (e: Event): void => {
      if (!ref.current?.contains(e.target as Node)) {
        setOpen(false);
      }
    };
    addEventListener("pointerdown", away, true);
    return () => removeEventListener("pointerdown", away, true);
  }, [open]);
  useEffect(() => {
    if (open && place !== null) {
      ref.current
        ?.querySelector<HTMLElement>(".menu-box button, .menu-box input, .menu-box [tabindex]")
        ?.focus();
    }
  }, [open, place !== null]);
  return (
    <div
      class="menu"
      ref={ref}
      onKeyDown={(e) => {
        if (open && e.key === "Escape") {
          e.stopPropagation();
          close();
        }
        if (
          open &&
          (e.key === "ArrowDown" || e.key === "ArrowUp") &&
          !(e.target as HTMLElement).closest(".grid")
        ) {
          const items = [
            ...ref.current!.querySelectorAll<HTMLElement>(
              ".menu-box button:not([disabled]), .menu-box input",
            ),
          ];
          const at = items.indexOf(document.activeElement as HTMLElement);
          e.preventDefault();
          e.stopPropagation();
          items[(at + (e.key === "ArrowDown" ? 1 : items.length - 1)) % items.length]?.focus();
        }
      }}
    >
      <button
        ref={button}
        type="button"
        class={`flat ${extra ?? ""}`}
        aria-haspopup="true"
        aria-expanded={open}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!open)}
      >
        {icon !== undefined && <Icon name={icon} />}
        {text}
      </button>
      {open && (
        <div
          class="menu-box"
          role="group"
          aria-label={label}
          style={place ?? { visibility: "hidden" }}
        >
          {children(close)}
        </div>
      )}
    </div>
  );
}
