/** Which pages there are. */
import { TABS, type Tab } from "../model/session";

const COMPARING: readonly Tab[] = ["communication", "whatif"];

/** Pages that compare ranks are there where there are several, of one capture or of more; or when the address asks for them. */
export function tabsShown(nRanks: number, shown: Tab): Tab[] {
  return TABS.filter((name) => name === shown || nRanks > 1 || !COMPARING.includes(name));
}
