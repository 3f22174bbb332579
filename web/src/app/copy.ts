/** An address for somebody else, in the clipboard. */
import { fail, notify } from "../model/notices";
import { t } from "../words";

export async function copyAddress(address: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(address);
    notify("info", t("frame.address-copied"));
  } catch (error) {
    fail(error);
  }
}
