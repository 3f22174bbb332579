// What the items of the parity list share: the page of one capture, and what of the capture they use. node parity.mjs gives CHROMIUM and URL.
import { launchUnseen } from "./page.mjs";
import { Stage } from "./parity_page.mjs";

const [executablePath, url] = process.argv.slice(2);
export const browser = await launchUnseen(executablePath);
export const v = await Stage.open(browser, url);
export const first = v.ranks[0].key;

/** What a capture has nothing of: thrown once the page is seen to say so. */
export class Skip extends Error {}
export const skip = (why) => {
  throw new Skip(why);
};

export const nodes = v.lanes.get(first);
export const most = (kind) =>
  nodes.filter((n) => n.kind === kind && n.lane >= 0).sort((a, b) => b.slices - a.slices)[0];
export const host = most("host");
/** Where the work is: of a capture of hosts alone the thread with most of it. */
export const device = most("device") ?? most("marks") ?? host;
export const idOf = (node) => `${first}|${node.id}`;
export const kernels = await v.slices(first, device.lane);
export const calls = await v.slices(first, host.lane);
