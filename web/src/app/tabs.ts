/** Which pages there are. */
import { TABS, type Tab } from "../model/session";

const COMPARING: readonly Tab[] = ["summary", "communication", "whatif"];

/** Pages that compare ranks are there where there are several, or when the address asks for them. */
export function tabsShown(nRanks: number, shown: Tab): Tab[] {
  return TABS.filter((name) => nRanks > 1 || name === shown || !COMPARING.includes(name));
}
