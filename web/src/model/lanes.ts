/** The tree of lanes as it is shown: what is open, hidden, pinned, filtered and in which order; and where each row of it lies.
 *
 * A row's id is "KEY" of a rank, "KEY|ID" of a node below it, "@HOST" of a host; ids of nodes are alike in all ranks. Places
 * are pixels from the top of the list. Layout is a pass over all that is open; drawing looks at what is on screen. */
import type { LaneNode, Rank } from "../api/types";
import type { Outline } from "./outlines";
import { RankLanes } from "./rank_lanes";
import { cellWord, rankWord } from "../words";

export const ROW_PX = 20;
export const PREVIEW_PX = 24;
export const HEADER_PX = 28;
export const GROUP_PX = 22;
export const COUNTER_PX = 48;
export const HIDDEN_PX = 20;
export const PIPELINE_PX = 24;

export type ItemKind =
  | "host"
  | "rank"
  | "unread"
  | "outline"
  | "pipeline"
  | "group"
  | "lane"
  | "counter"
  | "idle"
  | "hidden";

export interface Item {
  kind: ItemKind;
  id: string;
  label: string;
  /** The rank of a pinned lane, where there are several: nothing above it says so. Else "". */
  owner: string;
  /** Not of hosts. */
  rank: Rank | null;
  /** Of ranks that are read. */
  lanes: RankLanes | null;
  /** Place in lanes.nodes, of an outline in its lanes; -1: none. */
  node: number;
  /** The first of the groups that share this row; the node itself where there is none. */
  head: number;
  depth: number;
  y: number;
  height: number;
  /** Rows drawn; more are there while the height follows the window. */
  rows: number;
  isOpen: boolean;
  canOpen: boolean;
  /** Of "n lanes hidden"; of "n counters that do not change" those. */
  hidden: string[];
}

export const idOf = (key: string, nodeId: string): string => `${key}|${nodeId}`;
/** What a row is moved by. */
export const headId = (item: Item): string =>
  item.head >= 0 && item.lanes !== null
    ? idOf(item.lanes.key, item.lanes.nodes[item.head].id)
    : item.id;
export const rankOfId = (id: string): string =>
  id.includes("|") ? id.slice(0, id.indexOf("|")) : id;
export const nodeOfId = (id: string): string =>
  id.includes("|") ? id.slice(id.indexOf("|") + 1) : "";

/** The row of counters that do not change, of a parent. */
const idleId = (parent: string): string => `${parent}#idle`;
/** So many of them share a row. */
const LEAST_IDLE = 2;

/** Lanes so deep are closed at first. */
const DEEP = 8;
/** So many ranks are open at first. */
const OPEN_RANKS = 1;

export interface LayoutInput {
  ranks: readonly Rank[];
  lanesOf: (key: string) => RankLanes | undefined;
  /** The name of a rank's pipeline; undefined: it has none to show. */
  pipelineOf?: (rank: Rank) => string | undefined;
  /** What is there so far of a rank that is being read. */
  outlineOf?: (key: string) => Outline | undefined;
}

export class LaneTree {
  /** Only what differs from how a row is at first. */
  readonly opened = new Map<string, boolean>();
  /** Rows that were opened or closed with all below them; "" is everything. What is in `opened` wins, then the nearest above. */
  readonly openedBelow = new Map<string, boolean>();
  readonly hidden = new Set<string>();
  /** In their order. */
  pinned: string[] = [];
  /** Children that were moved: ids in order, by the id of their parent ("" of ranks). */
  readonly order = new Map<string, string[]>();
  /** null: all. */
  shownRanks: ReadonlySet<string> | null = null;
  /** Names of lanes; null: all. */
  shownNames: ReadonlySet<string> | null = null;
  /** Rows of a lane follow the window (T-14). */
  readonly autoHeight = new Set<string>();
  isAutoAll = false;
  /** Rows needed now, of lanes with automatic height. */
  readonly rowsNeeded = new Map<string, number>();

  items: Item[] = [];
  pins: Item[] = [];
  height = 0;
  pinsHeight = 0;
  private placeOf = new Map<string, number>();
  private pinPlaceOf = new Map<string, number>();
  private rankPlace = new Map<string, number>();
  /** Lanes that pass the filter, while one is set: by rank, node -> whether it or something below it does. */
  private passing = new Map<string, boolean[]>();
  version = 0;

  // --- what is open --------------------------------------------------------------------------------------------------

  setOpen(item: Item, open: boolean): void {
    this.opened.set(item.id, open);
  }

  /** A row and all below it (T-13); null: everything. */
  openAll(input: LayoutInput, item: Item | null, open: boolean): void {
    if (item === null) {
      this.opened.clear();
      this.openedBelow.clear();
      this.openedBelow.set("", open);
      return;
    }
    const ranks = item.kind === "host" ? input.ranks.filter((r) => hostId(r) === item.id) : [];
    ranks.forEach((r) => this.forgetBelow(input, r.key, -1));
    if (item.rank !== null) {
      this.forgetBelow(input, item.rank.key, item.node);
    }
    this.opened.delete(item.id);
    this.openedBelow.set(item.id, open);
  }

  /** These ranks alone, all of them in sight: what they hold is closed, and they themselves where even so they are higher than the room. */
  showTogether(input: LayoutInput, keys: readonly string[], roomPx: number): void {
    this.shownRanks = new Set(keys);
    for (const key of keys) {
      this.forgetBelow(input, key, -1);
      this.openedBelow.set(key, false);
      this.opened.set(key, true);
    }
    this.layout(input);
    if (this.height > roomPx) {
      keys.forEach((key) => this.opened.set(key, false));
    }
  }

  private forgetBelow(input: LayoutInput, key: string, node: number): void {
    const lanes = input.lanesOf(key);
    const id = node < 0 || lanes === undefined ? key : idOf(key, lanes.nodes[node].id);
    this.opened.delete(id);
    this.openedBelow.delete(id);
    const below =
      lanes === undefined ? [] : node < 0 ? lanes.shownRoots() : lanes.shownChildren(node);
    below.forEach((child) => this.forgetBelow(input, key, child));
  }

  /** Whether a node is open; undefined: as at first. */
  private choice(lanes: RankLanes, node: number, host: string): boolean | undefined {
    return (
      this.opened.get(idOf(lanes.key, lanes.nodes[node].id)) ?? this.inherited(lanes, node, host)
    );
  }

  /** Opens all that a lane lies in, shows it if it was hidden or filtered; returns its id. */
  reveal(input: LayoutInput, key: string, lane: number): string | null {
    const lanes = input.lanesOf(key);
    const node = lanes?.nodeOfLane(lane) ?? -1;
    if (lanes === undefined || node < 0) {
      return null;
    }
    this.shownRanks =
      this.shownRanks === null || this.shownRanks.has(key)
        ? this.shownRanks
        : new Set([...this.shownRanks, key]);
    if (this.shownNames !== null && !this.passes(lanes, node)) {
      this.shownNames = null;
    }
    const rank = input.ranks.find((r) => r.key === key);
    const host = rank === undefined ? "" : hostId(rank);
    if (
      (this.opened.get(host) ?? this.openedBelow.get(host) ?? this.openedBelow.get("")) === false
    ) {
      this.opened.set(host, true);
    }
    if (this.item(key)?.isOpen !== true) {
      this.opened.set(key, true);
    }
    this.hidden.delete(key);
    for (let at = node; at >= 0; at = lanes.nodes[at].parent) {
      const id = idOf(key, lanes.nodes[at].id);
      const above = lanes.nodes[at].parent;
      this.hidden.delete(id);
      if (lanes.isIdle(at) && (above < 0 || !lanes.isIdle(above))) {
        this.opened.set(idleId(above < 0 ? key : idOf(key, lanes.nodes[above].id)), true);
      }
      if (at !== node && !(this.choice(lanes, at, host) ?? opensAtFirst(lanes.nodes[at]))) {
        this.opened.set(id, true);
      }
    }
    return idOf(key, lanes.nodes[node].id);
  }

  // --- hidden, pinned, moved -----------------------------------------------------------------------------------------

  hide(ids: Iterable<string>): void {
    for (const id of ids) {
      this.hidden.add(id);
    }
    this.pinned = this.pinned.filter((id) => !this.hidden.has(id));
  }

  /** null: everything that is hidden. */
  show(ids: Iterable<string> | null): void {
    if (ids === null) {
      this.hidden.clear();
    } else {
      for (const id of ids) {
        this.hidden.delete(id);
      }
    }
  }

  isPinned(id: string): boolean {
    return this.pinned.includes(id);
  }

  pin(ids: Iterable<string>): void {
    for (const id of ids) {
      if (!this.pinned.includes(id)) {
        this.pinned.push(id);
      }
    }
  }

  unpin(ids: Iterable<string> | null): void {
    const gone = ids === null ? null : new Set(ids);
    this.pinned = gone === null ? [] : this.pinned.filter((id) => !gone.has(id));
  }

  /** Rows of all ranks that are the same lane as this one: the same place in the tree, or the same name and kind (the same
   * communication group). */
  sameAs(input: LayoutInput, item: Item): string[] {
    const like = item.lanes?.nodes[item.node];
    if (like === undefined) {
      return [item.id];
    }
    const found: string[] = [];
    for (const rank of input.ranks) {
      const lanes = input.lanesOf(rank.key);
      lanes?.nodes.forEach((node) => {
        if (
          lanes.find(node.id) >= 0 &&
          (node.id === like.id ||
            (node.name === like.name && node.kind === like.kind && sameRole(lanes, node, item)))
        ) {
          found.push(idOf(rank.key, node.id));
        }
      });
    }
    return found;
  }

  /** Puts a row before another of the same parent (null: last). Of pinned rows: `parent` is "^". */
  move(parent: string, siblings: string[], id: string, before: string | null): void {
    const rest = siblings.filter((s) => s !== id);
    const at = before === null ? rest.length : rest.indexOf(before);
    rest.splice(at < 0 ? rest.length : at, 0, id);
    if (parent === "^") {
      this.pinned = rest;
    } else {
      this.order.set(parent, rest);
    }
  }

  // --- layout --------------------------------------------------------------------------------------------------------

  layout(input: LayoutInput): void {
    this.items = [];
    this.pins = [];
    this.passing = new Map();
    this.version++;
    // Which host a rank is of is known once it is read: those that nobody has read yet come last.
    const hosts = new Set(input.ranks.map((r) => r.host).filter((h) => h !== ""));
    const ranks = this.ordered(
      "",
      input.ranks.filter((r) => this.shownRanks === null || this.shownRanks.has(r.key)),
      (r) => r.key,
    );
    let openAtFirst = OPEN_RANKS;
    let host: string | null = null;
    let isHostOpen = true;
    const hiddenRanks: string[] = [];
    const byHost = hosts.size > 1 ? [...ranks].sort((a, b) => compareHosts(a.host, b.host)) : ranks;
    for (const rank of byHost) {
      if (hosts.size > 1 && rank.host !== host) {
        host = rank.host;
        isHostOpen =
          this.opened.get(hostId(rank)) ??
          this.openedBelow.get(hostId(rank)) ??
          this.openedBelow.get("") ??
          true;
        this.items.push(plain("host", hostId(rank), host, 0, HEADER_PX, isHostOpen));
      }
      if (this.hidden.has(rank.key)) {
        hiddenRanks.push(rank.key);
      } else if (isHostOpen) {
        this.addRank(this.items, input, rank, openAtFirst > 0, hosts.size > 1 ? 1 : 0);
      }
      openAtFirst -= rank.state === "ready" || rank.state === "reading" ? 1 : 0;
    }
    if (hiddenRanks.length > 0) {
      this.items.push({
        ...plain("hidden", "hidden", "", 0, HIDDEN_PX, false),
        hidden: hiddenRanks,
      });
    }
    this.addPins(input);
    this.height = this.place(this.items, (this.placeOf = new Map<string, number>()));
    this.pinsHeight = this.place(this.pins, (this.pinPlaceOf = new Map<string, number>()));
    this.rankPlace = new Map();
    this.items.forEach(
      (item, i) =>
        (item.kind === "rank" || item.kind === "unread") && this.rankPlace.set(item.id, i),
    );
  }

  private place(items: Item[], places: Map<string, number>): number {
    let y = 0;
    items.forEach((item, i) => {
      item.y = y;
      y += item.height;
      places.set(item.kind === "hidden" ? `${item.id}#hidden` : item.id, i);
    });
    return y;
  }

  private addRank(
    out: Item[],
    input: LayoutInput,
    rank: Rank,
    byDefault: boolean,
    depth: number,
  ): void {
    const lanes = rank.state === "ready" ? input.lanesOf(rank.key) : undefined;
    const below =
      this.openedBelow.get(rank.key) ??
      this.openedBelow.get(hostId(rank)) ??
      this.openedBelow.get("");
    const hasRows = rank.state === "ready" || rank.state === "reading";
    const isOpen = hasRows && (this.opened.get(rank.key) ?? below ?? byDefault);
    out.push({
      ...plain(
        rank.state === "ready" ? "rank" : "unread",
        rank.key,
        rankWord(rank.label),
        depth,
        HEADER_PX,
        isOpen,
      ),
      rank,
      lanes: lanes ?? null,
      canOpen: hasRows,
    });
    // Of closed ranks too: pipelines are read one below the other.
    const pipeline = rank.state === "ready" ? input.pipelineOf?.(rank) : undefined;
    if (pipeline !== undefined) {
      out.push({
        ...plain("pipeline", `${rank.key}|pipeline`, pipeline, depth + 1, PIPELINE_PX, false),
        rank,
        lanes: lanes ?? null,
      });
    }
    if (isOpen && lanes !== undefined) {
      this.addChildren(out, rank, lanes, -1, depth + 1, below);
    }
    const outline = rank.state === "reading" ? input.outlineOf?.(rank.key) : undefined;
    if (isOpen && outline !== undefined) {
      addOutline(out, rank, outline, depth + 1);
    }
  }

  private addChildren(
    out: Item[],
    rank: Rank,
    lanes: RankLanes,
    parent: number,
    depth: number,
    below: boolean | undefined,
  ): void {
    const parentId = parent < 0 ? rank.key : idOf(rank.key, lanes.nodes[parent].id);
    const children = this.ordered(
      parentId,
      parent < 0 ? lanes.shownRoots() : lanes.shownChildren(parent),
      (n) => idOf(rank.key, lanes.nodes[n].id),
    );
    const hidden: string[] = [];
    const shown: number[] = [];
    for (const node of children) {
      const id = idOf(rank.key, lanes.nodes[node].id);
      if (this.hidden.has(id)) {
        hidden.push(id);
      } else if (this.shownNames === null || this.passes(lanes, node)) {
        shown.push(node);
      }
    }
    const isInside = parent >= 0 && lanes.isIdle(parent);
    const idle = isInside ? [] : shown.filter((node) => lanes.isIdle(node));
    const counters = idle.flatMap((node) => lanes.lanesBelow(node, true));
    const isFolded = counters.length >= LEAST_IDLE;
    for (const node of isFolded ? shown.filter((n) => !idle.includes(n)) : shown) {
      this.addNode(out, rank, lanes, node, depth, below);
    }
    if (isFolded) {
      const id = idleId(parentId);
      const isOpen = this.opened.get(id) ?? false;
      const ids = counters.map((lane) => idOf(rank.key, lanes.nodes[lanes.nodeOfLane(lane)].id));
      out.push({
        ...plain("idle", id, "", depth, GROUP_PX, isOpen),
        ...{ rank, lanes, canOpen: true, hidden: ids },
      });
      for (const node of isOpen ? idle : []) {
        this.addNode(out, rank, lanes, node, depth + 1, below);
      }
    }
    if (hidden.length > 0) {
      out.push({ ...plain("hidden", parentId, "", depth, HIDDEN_PX, false), rank, lanes, hidden });
    }
  }

  private addNode(
    out: Item[],
    rank: Rank,
    lanes: RankLanes,
    first: number,
    depth: number,
    above: boolean | undefined,
  ): void {
    let at = first;
    let label = nodeWord(lanes.nodes[at]);
    let below = this.openedBelow.get(idOf(rank.key, lanes.nodes[at].id)) ?? above;
    // A group around one thing shares its row: "CANN \u203a acl".
    for (let only = this.onlyChild(lanes, at); only >= 0; only = this.onlyChild(lanes, at)) {
      at = only;
      label += ` \u203a ${nodeWord(lanes.nodes[at])}`;
      below = this.openedBelow.get(idOf(rank.key, lanes.nodes[at].id)) ?? below;
    }
    const node = lanes.nodes[at];
    const id = idOf(rank.key, node.id);
    const hasChildren = lanes.children[at].length > 0;
    const isOpen = this.opened.get(id) ?? below ?? opensAtFirst(node);
    const kind: ItemKind = node.lane < 0 ? "group" : node.kind === "counter" ? "counter" : "lane";
    const rows = this.rowsOf(id, node);
    const height =
      kind === "group"
        ? GROUP_PX
        : !isOpen
          ? PREVIEW_PX
          : kind === "counter"
            ? COUNTER_PX
            : Math.max(PREVIEW_PX, rows * ROW_PX + 4);
    out.push({
      kind,
      id,
      label,
      owner: "",
      rank,
      lanes,
      node: at,
      head: first,
      depth,
      y: 0,
      height,
      rows,
      isOpen,
      canOpen: hasChildren || kind !== "group",
      hidden: [],
    });
    if (isOpen && hasChildren) {
      this.addChildren(out, rank, lanes, at, depth + 1, below);
    }
  }

  /** The one child of a group, -1: it has none or several, or the child is hidden. */
  private onlyChild(lanes: RankLanes, at: number): number {
    const node = lanes.nodes[at];
    const children = node.lane >= 0 ? [] : lanes.shownChildren(at);
    if (children.length !== 1) {
      return -1;
    }
    return this.hidden.has(idOf(lanes.key, lanes.nodes[children[0]].id)) ? -1 : children[0];
  }

  /** Rows that are given room. */
  private rowsOf(id: string, node: LaneNode): number {
    const all = Math.max(1, node.rows);
    return this.isAuto(id) ? Math.min(all, Math.max(1, this.rowsNeeded.get(id) ?? all)) : all;
  }

  isAuto(id: string): boolean {
    return this.isAutoAll !== this.autoHeight.has(id);
  }

  private addPins(input: LayoutInput): void {
    const pinned = new Set(this.pinned);
    for (const id of this.pinned) {
      const rank = input.ranks.find((r) => r.key === rankOfId(id));
      const lanes = rank === undefined ? undefined : input.lanesOf(rank.key);
      if (rank === undefined || lanes === undefined || rank.state !== "ready") {
        continue;
      }
      const node = id === rank.key ? -1 : lanes.find(nodeOfId(id));
      if (id === rank.key) {
        this.addRank(this.pins, input, rank, false, 0);
      } else if (node >= 0 && !this.isBelowPinned(lanes, node, rank.key, pinned)) {
        const above = lanes.nodes[node].parent;
        const first = this.pins.length;
        this.addNode(
          this.pins,
          rank,
          lanes,
          node,
          0,
          above < 0 ? undefined : this.inherited(lanes, above, hostId(rank)),
        );
        if (this.pins.length > first && input.ranks.length > 1) {
          this.pins[first].owner = rankWord(rank.label);
        }
      }
    }
  }

  /** What was chosen for all below a node. */
  private inherited(lanes: RankLanes, node: number, host: string): boolean | undefined {
    for (let at = node; at >= 0; at = lanes.nodes[at].parent) {
      const below = this.openedBelow.get(idOf(lanes.key, lanes.nodes[at].id));
      if (below !== undefined) {
        return below;
      }
    }
    return (
      this.openedBelow.get(lanes.key) ?? this.openedBelow.get(host) ?? this.openedBelow.get("")
    );
  }

  private isBelowPinned(lanes: RankLanes, node: number, key: string, pinned: Set<string>): boolean {
    if (pinned.has(key)) {
      return true;
    }
    for (let at = lanes.nodes[node].parent; at >= 0; at = lanes.nodes[at].parent) {
      if (
        pinned.has(idOf(key, lanes.nodes[at].id)) &&
        this.opened.get(idOf(key, lanes.nodes[at].id)) !== false
      ) {
        return true;
      }
    }
    return false;
  }

  private ordered<T>(parent: string, children: T[], id: (child: T) => string): T[] {
    const order = this.order.get(parent);
    if (order === undefined) {
      return children;
    }
    const place = new Map(order.map((name, i) => [name, i]));
    // What the order does not know keeps its place behind what it does.
    return children
      .map((child, i) => ({ child, at: place.get(id(child)) ?? order.length + i }))
      .sort((a, b) => a.at - b.at)
      .map((c) => c.child);
  }

  private passes(lanes: RankLanes, node: number): boolean {
    let known = this.passing.get(lanes.key);
    if (known === undefined) {
      const names = this.shownNames;
      const found: boolean[] = [];
      const walk = (at: number, inside: boolean): boolean => {
        const own = inside || names === null || names.has(lanes.nodes[at].name);
        let any = own;
        for (const child of lanes.shownChildren(at)) {
          any = walk(child, own) || any;
        }
        return (found[at] = any);
      };
      lanes.shownRoots().forEach((root) => walk(root, false));
      this.passing.set(lanes.key, (known = found));
    }
    return known[node] ?? false;
  }

  // --- where things are ----------------------------------------------------------------------------------------------

  item(id: string, pins = false): Item | undefined {
    const at = (pins ? this.pinPlaceOf : this.placeOf).get(id);
    return at === undefined ? undefined : (pins ? this.pins : this.items)[at];
  }

  /** First item that ends after y. */
  indexAt(y: number, pins = false): number {
    const items = pins ? this.pins : this.items;
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (items[middle].y + items[middle].height <= y) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Where a lane is drawn, or what it is folded into; undefined: it is hidden. */
  itemOfLane(lanes: RankLanes, lane: number, pins = false): Item | undefined {
    for (let at = lanes.nodeOfLane(lane); at >= 0; at = lanes.nodes[at].parent) {
      const id = idOf(lanes.key, lanes.nodes[at].id);
      if (this.hidden.has(id)) {
        return undefined;
      }
      const found = this.item(id, pins);
      if (found !== undefined) {
        return found;
      }
    }
    return pins ? undefined : this.items[this.rankPlace.get(lanes.key) ?? -1];
  }

  /** Rows of the same parent as a row (the first of the groups that share it), in order; and the id of that parent. */
  siblings(input: LayoutInput, item: Item): { parent: string; ids: string[] } {
    if (item.node < 0 || item.lanes === null || item.rank === null) {
      return {
        parent: "",
        ids: this.ordered("", [...input.ranks], (r) => r.key).map((r) => r.key),
      };
    }
    const { lanes } = item;
    const above = lanes.nodes[item.head].parent;
    const parent = above < 0 ? item.rank.key : idOf(item.rank.key, lanes.nodes[above].id);
    const ids = (above < 0 ? lanes.shownRoots() : lanes.shownChildren(above)).map((n) =>
      idOf(lanes.key, lanes.nodes[n].id),
    );
    return { parent, ids: this.ordered(parent, ids, (id) => id) };
  }
}

/** Lanes of what is there so far, below their processes; a process with one lane shares its row. */
function addOutline(out: Item[], rank: Rank, outline: Outline, depth: number): void {
  const { lanes } = outline;
  lanes.forEach(({ process, name }, i) => {
    const isFirst = lanes[i - 1]?.process !== process;
    const isOnly = isFirst && lanes[i + 1]?.process !== process;
    const id = `${rank.key}|outline/${i}`;
    if (isFirst && !isOnly) {
      out.push({ ...plain("outline", `${id}/of`, process, depth, GROUP_PX, false), rank });
    }
    out.push({
      ...plain(
        "outline",
        id,
        isOnly ? `${process} \u203a ${name}` : name,
        isOnly ? depth : depth + 1,
        PREVIEW_PX,
        false,
      ),
      ...{ rank, node: i },
    });
  });
}

const hostId = (rank: Rank): string => `@${rank.host}`;
const natural = new Intl.Collator("en", { numeric: true });
const compareHosts = (a: string, b: string): number =>
  Number(a === "") - Number(b === "") || natural.compare(a, b);

function plain(
  kind: ItemKind,
  id: string,
  label: string,
  depth: number,
  height: number,
  isOpen: boolean,
): Item {
  return {
    kind,
    id,
    label,
    owner: "",
    rank: null,
    lanes: null,
    node: -1,
    head: -1,
    depth,
    y: 0,
    height,
    rows: 0,
    isOpen,
    canOpen: kind === "host",
    hidden: [],
  };
}

/** Names of the profile stay as they are; lanes that pipescope alone has are named in the language of the page. */
const nodeWord = (node: LaneNode): string =>
  node.derived === true ? cellWord("name", node.name) : node.name;

function opensAtFirst(node: LaneNode): boolean {
  return (
    node.lane < 0 ||
    node.kind === "comm" ||
    (node.kind !== "python" &&
      node.kind !== "plane" &&
      node.kind !== "counter" &&
      node.rows <= DEEP)
  );
}

/** Names such as "Plane 0" occur below many communicators: the same role is the same name all the way up. */
function sameRole(lanes: RankLanes, node: LaneNode, like: Item): boolean {
  let a = node.parent;
  let b = like.lanes!.nodes[like.node].parent;
  while (a >= 0 && b >= 0) {
    if (lanes.nodes[a].name !== like.lanes!.nodes[b].name) {
      return false;
    }
    a = lanes.nodes[a].parent;
    b = like.lanes!.nodes[b].parent;
  }
  return a < 0 && b < 0;
}
