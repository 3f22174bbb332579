/** The lanes of one rank, as the server arranges them, and streams that the user drew as one. */
import { get, post } from "../api/client";
import type { LaneNode, Rank } from "../api/types";
import type { Ns } from "../base/ns";
import { offsets, shiftOf } from "./session";

/** What was merged stands in the place of its first member. */
export interface Merged {
  node: number;
  members: number[];
}

export class RankLanes {
  readonly children: number[][] = [];
  readonly roots: number[] = [];
  /** Node of a lane, -1: none. */
  private readonly nodeOf = new Map<number, number>();
  private readonly byId = new Map<string, number>();
  readonly merged: Merged[] = [];
  /** Node of what a node was merged into. */
  private readonly mergedInto = new Map<number, number>();
  private readonly parts: string[] = [];

  constructor(
    readonly key: string,
    readonly nodes: LaneNode[],
  ) {
    nodes.forEach((node, i) => this.index(node, i));
  }

  private index(node: LaneNode, i: number): void {
    this.children[i] = [];
    (node.parent < 0 ? this.roots : this.children[node.parent]).push(i);
    this.byId.set(node.id, i);
    if (node.lane >= 0) {
      this.nodeOf.set(node.lane, i);
    }
    this.parts[i] =
      node.device >= 0
        ? `device/${node.device}`
        : node.parent >= 0
          ? this.parts[node.parent]
          : node.id;
  }

  find(id: string): number {
    return this.byId.get(id) ?? -1;
  }

  nodeOfLane(lane: number): number {
    const node = this.nodeOf.get(lane);
    return node === undefined ? -1 : (this.mergedInto.get(node) ?? node);
  }

  /** What of a rank is moved in time together: all lanes of a device, else a process (T-20). */
  partOf(node: number): string {
    return this.parts[node];
  }

  /** All lanes at and below a node (-1: of the rank), of which `counters` or slices. */
  lanesBelow(node: number, counters = false): number[] {
    const found: number[] = [];
    const walk = (i: number): void => {
      const { lane, kind } = this.nodes[i];
      if (lane >= 0 && (kind === "counter") === counters) {
        found.push(lane);
      }
      this.shownChildren(i).forEach(walk);
    };
    (node < 0 ? this.shownRoots() : [node]).forEach(walk);
    return found;
  }

  /** A counter that does not change, or a group of such. */
  isIdle(node: number): boolean {
    const { lane, idle } = this.nodes[node];
    const children = this.children[node];
    return lane >= 0
      ? idle === true
      : children.length > 0 && children.every((child) => this.isIdle(child));
  }

  shownChildren(node: number): number[] {
    return this.withMerged(this.children[node], node);
  }

  shownRoots(): number[] {
    return this.withMerged(this.roots, -1);
  }

  private withMerged(nodes: number[], parent: number): number[] {
    if (this.merged.length === 0) {
      return nodes;
    }
    const shown: number[] = [];
    for (const node of nodes) {
      const into = this.mergedInto.get(node) ?? node;
      if (this.nodes[into].parent === parent && !shown.includes(into)) {
        shown.push(into);
      }
    }
    return shown;
  }

  /** Streams drawn as one from now on (T-17). */
  async merge(nodes: number[]): Promise<void> {
    const lanes = nodes
      .flatMap((n) => this.merged.find((m) => m.node === n)?.members ?? [n])
      .map((n) => this.nodes[n].lane);
    const made = await post<{ lane: number; rows: number; slices: number }>("merge", {
      rank: this.key,
      lanes,
    });
    this.addMerged(nodes, made);
  }

  addMerged(nodes: number[], made: { lane: number; rows: number; slices: number }): void {
    const members = nodes
      .flatMap((n) => this.merged.find((m) => m.node === n)?.members ?? [n])
      .sort((a, b) => a - b);
    nodes.forEach((n) => this.unmerge(n));
    const first = this.nodes[members[0]];
    const id = members.map((n) => this.nodes[n].id).join("+");
    const node: LaneNode = {
      ...first,
      id,
      name: members.map((n) => this.nodes[n].name).join(" + "),
      lane: made.lane,
      rows: made.rows,
      slices: made.slices,
      start: Math.min(...members.map((n) => this.nodes[n].start)),
      end: Math.max(...members.map((n) => this.nodes[n].end)),
    };
    let at = this.byId.get(id) ?? -1;
    if (at < 0) {
      at = this.nodes.push(node) - 1;
      this.children[at] = [];
      this.byId.set(id, at);
      this.parts[at] = this.parts[members[0]];
    } else {
      this.nodes[at] = node;
    }
    this.nodeOf.set(made.lane, at);
    members.forEach((n) => this.mergedInto.set(n, at));
    this.merged.push({ node: at, members });
  }

  isMerged(node: number): boolean {
    return this.merged.some((m) => m.node === node);
  }

  unmerge(node: number): void {
    const at = this.merged.findIndex((m) => m.node === node);
    if (at >= 0) {
      this.merged[at].members.forEach((n) => this.mergedInto.delete(n));
      this.merged.splice(at, 1);
    }
  }
}

/** viewNs - rankNs of a lane: that of its rank, and by how much its process or device was moved apart from it. */
export function laneShift(rank: Rank, lanes: RankLanes, node: number): Ns {
  const all = offsets.get();
  const own = all.size === 0 ? 0 : (all.get(`${rank.key}|${lanes.partOf(node)}`) ?? 0);
  return shiftOf(rank) + own;
}

export async function readLanes(key: string): Promise<RankLanes> {
  return new RankLanes(key, (await get<{ nodes: LaneNode[] }>("lanes", { rank: key })).nodes);
}
