/** The Summary page. */
import { t } from "../words";

export function SummaryPage() {
  return <main class="page">{t("tab.summary")}</main>;
}
