/** The Communication page. */
import { t } from "../words";

export function CommunicationPage() {
  return <main class="page">{t("tab.communication")}</main>;
}
