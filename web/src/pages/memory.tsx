/** The Memory page. */
import { t } from "../words";

export function MemoryPage() {
  return <main class="page">{t("tab.memory")}</main>;
}
