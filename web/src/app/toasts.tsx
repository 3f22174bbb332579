/** Failures and news, over the page until they are put away. */
import { useAtom } from "../base/atom";
import { lower, notices } from "../model/notices";
import { Icon } from "../panels/icons";
import { t } from "../words";

export function Toasts() {
  const up = useAtom(notices)
    .filter((n) => n.isUp)
    .slice(-4);
  return (
    <div class="toasts" aria-live="polite">
      {up.map((notice) => (
        <div
          key={notice.id}
          class={`toast ${notice.severity}`}
          role={notice.severity === "error" ? "alert" : "status"}
        >
          <span>
            {notice.text}
            {notice.n > 1 && <span class="quiet"> ×{notice.n}</span>}
          </span>
          {notice.undo !== undefined && (
            <button type="button" onClick={() => (notice.undo!(), lower(notice.id))}>
              {t("frame.undo")}
            </button>
          )}
          <button
            type="button"
            class="flat tiny"
            aria-label={t("frame.close")}
            onClick={() => lower(notice.id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
