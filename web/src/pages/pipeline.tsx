/** The Pipeline page. */
import { t } from "../words";

export function PipelinePage() {
  return <main class="page">{t("tab.pipeline")}</main>;
}
