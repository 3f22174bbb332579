/** The Operator page. */
import { t } from "../words";

export function OperatorPage() {
  return <main class="page">{t("tab.operator")}</main>;
}
