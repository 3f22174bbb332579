/** A call tree, and what a flame graph shows of it; without a document. */
export type Time = "host" | "device";
export const TIMES: readonly Time[] = ["device", "host"];
export type By = "callers" | "callees" | "modules";
export const BYS: readonly By[] = ["callers", "callees", "modules"];

export interface CallNode {
  /** As the server calls it. */
  id: number;
  /** Places in the list; -1 of the root. */
  parent: number;
  children: number[];
  depth: number;
  name: string;
  kind: string;
  total: Record<Time, number>;
  /** null: a caller, from the bottom, where time is that of the name that it called. */
  self: Record<Time, number> | null;
  n: number;
  longest: number | null;
  /** Of the longest: its number in the rank that was asked for, or its rank and when it began (epoch). */
  slice: number | null;
  rank: number | null;
  start: string | null;
}

/** A place in the picture: a node, or several that are too thin to be drawn (`node` is then the first of them). */
export interface FlameBox {
  node: number;
  row: number;
  x: number;
  width: number;
  /** Above what is looked at: as wide as the picture, whatever its time. */
  isAbove: boolean;
  /** So many nodes beside one another, none of which is a pixel wide. */
  isThin: boolean;
  n: number;
}

const LEAST_PX = 1;
/** Of the picture a box is seen, with the beginning of its name. */
const SEEN_SHARE = 0.03;

/** The focus with which a node that was chosen elsewhere is seen: the one that there is where that is enough, else the nearest node above
 * it that is no wider than that. */
export function focusFor(
  nodes: readonly CallNode[],
  focus: number,
  chosen: number,
  time: Time,
): number {
  const own = nodes[chosen]?.total[time] ?? 0;
  const isSeenFrom = (at: number): boolean => own >= SEEN_SHARE * nodes[at].total[time];
  let best = chosen;
  for (let at = chosen; at >= 0 && isSeenFrom(at); at = nodes[at].parent) {
    if (at === focus) {
      return focus;
    }
    best = at;
  }
  return own > 0 ? best : focus;
}

/** The boxes of the nodes from `focus` down, and of those above it, on `width` pixels. */
export function flameOf(
  nodes: readonly CallNode[],
  focus: number,
  time: Time,
  width: number,
): FlameBox[] {
  const out: FlameBox[] = [];
  const above: number[] = [];
  for (let at = nodes[focus]?.parent ?? -1; at >= 0; at = nodes[at].parent) {
    above.push(at);
  }
  above.reverse();
  above.forEach((node, row) =>
    out.push({ node, row, x: 0, width, isAbove: true, isThin: false, n: 1 }),
  );
  const whole = nodes[focus]?.total[time] ?? 0;
  if (whole <= 0) {
    return out;
  }
  const perNs = width / whole;
  const todo: FlameBox[] = [
    { node: focus, row: above.length, x: 0, width, isAbove: false, isThin: false, n: 1 },
  ];
  while (todo.length > 0) {
    const box = todo.pop()!;
    out.push(box);
    if (box.isThin) {
      continue;
    }
    let x = box.x;
    let thin: FlameBox | null = null as FlameBox | null;
    const order = [...nodes[box.node].children].sort(
      (a, b) => nodes[b].total[time] - nodes[a].total[time] || a - b,
    );
    for (const node of order) {
      const w = nodes[node].total[time] * perNs;
      const own = { node, row: box.row + 1, x, width: w, isAbove: false, isThin: false, n: 1 };
      x += w;
      if (w >= LEAST_PX) {
        todo.push(own);
      } else if (w > 0) {
        thin ??= { ...own, width: 0, isThin: true, n: 0 };
        thin.width += w;
        thin.n += 1;
      }
    }
    if (thin !== null) {
      todo.push(thin);
    }
  }
  return out;
}

/** Kinds of nodes that stand for no slices of one name. */
const MADE: readonly string[] = ["all", "unknown", "others"];

/** Which nodes a search means: a text is in the name, in any case; "=text" is all of it. None for an empty one. */
export function foundIn(nodes: readonly CallNode[], text: string): ReadonlySet<number> {
  const wanted = text.trim().toLowerCase();
  const is = wanted.startsWith("=")
    ? (name: string) => name.toLowerCase() === wanted.slice(1)
    : (name: string) => name.toLowerCase().includes(wanted);
  return new Set(
    wanted === "" || wanted === "="
      ? []
      : nodes.flatMap((n, i) => (is(n.name) && !MADE.includes(n.kind) ? [i] : [])),
  );
}

/** The time of those that were found, each moment once: nothing of what lies below another one. */
export function timeFound(
  nodes: readonly CallNode[],
  found: ReadonlySet<number>,
  time: Time,
): number {
  const isBelow = (at: number): boolean => {
    for (let up = nodes[at].parent; up >= 0; up = nodes[up].parent) {
      if (found.has(up)) {
        return true;
      }
    }
    return false;
  };
  let sum = 0;
  for (const at of found) {
    sum += isBelow(at) ? 0 : nodes[at].total[time];
  }
  return sum;
}

/** Where an arrow leads from a node: up to its caller, down to the largest below it, to its neighbours by size. */
export function stepFrom(nodes: readonly CallNode[], at: number, key: string, time: Time): number {
  const by = (list: readonly number[]): number[] =>
    list
      .filter((n) => nodes[n].total[time] > 0)
      .sort((a, b) => nodes[b].total[time] - nodes[a].total[time] || a - b);
  const { parent, children } = nodes[at];
  if (key === "ArrowUp") {
    return parent < 0 ? at : parent;
  }
  if (key === "ArrowDown") {
    return by(children)[0] ?? at;
  }
  const beside = parent < 0 ? [at] : by(nodes[parent].children);
  const next = beside.indexOf(at) + (key === "ArrowRight" ? 1 : -1);
  return beside[Math.max(0, Math.min(beside.length - 1, next))] ?? at;
}

/** The time that says more of the capture: that of devices, where there is any. */
export const timeOf = (nodes: readonly CallNode[], wanted: Time | ""): Time =>
  wanted !== "" ? wanted : (nodes[0]?.total.device ?? 0) > 0 ? "device" : "host";
