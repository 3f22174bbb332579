/** Which pages there are. */
import { TABS, type Tab } from "../model/session";

const COMPARING: readonly Tab[] = ["summary", "communication", "whatif"];

/** Pages that compare ranks are there where there are several, that of captures where several are served; or when the address asks for
 * them. */
export function tabsShown(nRanks: number, nCaptures: number, shown: Tab): Tab[] {
  const isOff = (name: Tab): boolean =>
    name === "compare" ? nCaptures < 2 : nRanks < 2 && COMPARING.includes(name);
  return TABS.filter((name) => name === shown || !isOff(name));
}
