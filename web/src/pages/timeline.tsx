/** The Timeline page. */
import { t } from "../words";

export function TimelinePage() {
  return <main class="page">{t("tab.timeline")}</main>;
}
