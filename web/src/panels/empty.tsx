/** What stands where there is nothing to show: why, and what to do about it. */
import type { ComponentChildren } from "preact";
import { hasNothing } from "../api/client";
import { sentenceOf } from "../model/notices";
import { t } from "../words";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty" role="status">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Loading({ what }: { what?: string }) {
  return (
    <div class="empty" role="status" aria-busy="true">
      <p class="quiet">{what ?? t("frame.loading")}</p>
    </div>
  );
}

export function Failed({
  error,
  retry,
  children,
}: {
  error: unknown;
  retry?: () => void;
  children?: ComponentChildren;
}) {
  const text = error instanceof TypeError ? t("frame.lost") : sentenceOf(error);
  return text === null ? null : (
    <div class="empty" role={hasNothing(error) ? "status" : "alert"}>
      <p class="empty-title">{text.slice(0, 1).toUpperCase() + text.slice(1)}</p>
      {retry !== undefined && !hasNothing(error) && (
        <button type="button" onClick={retry}>
          {t("frame.retry")}
        </button>
      )}
      {children}
    </div>
  );
}
