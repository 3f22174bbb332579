/** What is to be pasted into the job's own settings, with what is to be known before. */
import { fail, notify } from "../model/notices";
import { t } from "../words";
import type { PasteLine } from "./whatif_model";

export function Paste({ lines, doubt = "" }: { lines: PasteLine[]; doubt?: string | undefined }) {
  return (
    <>
      {doubt !== "" && <p class="quiet">{doubt}</p>}
      <ul class="paste">
        {lines.map(({ name, line }) => (
          <li>
            <span class="quiet">{name}</span> <code>{line}</code>{" "}
            <button type="button" class="tiny" onClick={() => void copy(line)}>
              {t("whatif.copy")}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify("info", t("whatif.copied"));
  } catch (error) {
    fail(error);
  }
}
