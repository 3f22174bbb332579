/** Flows that are drawn: all of the selected slice, and those of the chosen kinds in the window. */
import { get, list } from "../api/client";
import type { Flow, FlowRow, Ref } from "../api/types";
import type { Ns } from "../base/ns";
import { box, boxLocked, selected, shiftOf } from "../model/session";
import { flowKinds, viewport } from "../model/timeline";
import type { Rank } from "../api/types";

/** Of one rank and kind; the server thins them evenly in time. */
const LIMIT = 600;
/** Ranks whose flows are asked for: those on screen, at most. */
const MOST_RANKS = 4;
const SETTLE_MS = 120;

/** A window that stays the same while panning a little: a multiple of half its span on both sides. */
export function quantised(from: Ns, to: Ns): [Ns, Ns] {
  const span = Math.max(1, to - from);
  const step = 2 ** Math.ceil(Math.log2(span));
  return [Math.floor(from / step) * step, (Math.floor(to / step) + 1) * step];
}

export interface WindowFlows {
  rank: string;
  kind: string;
  key: string;
  total: number;
  flows: FlowRow[];
}

export class Flows {
  /** Of the selected slice. */
  ofSelected: Flow[] = [];
  readonly inWindow = new Map<string, WindowFlows>();
  readonly kinds = new Map<string, [kind: string, n: number][]>();
  private controller: AbortController | null = null;
  private timer = 0;
  private readonly asked = new Map<string, { key: string; controller: AbortController }>();

  constructor(private readonly changed: () => void) {}

  /** After the selection changed. */
  select(ref: Ref | null): void {
    this.controller?.abort();
    this.ofSelected = [];
    if (ref !== null) {
      const controller = (this.controller = new AbortController());
      get<{ flows: Flow[] }>(
        "flows/of",
        { rank: ref.rank, slice: ref.slice },
        controller.signal,
      ).then(
        (reply) => {
          if (selected.get() === ref) {
            this.ofSelected = reply.flows;
            this.changed();
          }
        },
        () => undefined,
      );
    }
    this.changed();
  }

  /** Slices at both ends of the selected one's flows. */
  lit(): Ref[] {
    const found = new Map<string, Ref>();
    for (const { from, to } of this.ofSelected) {
      found.set(`${from.rank}|${from.slice}`, from);
      found.set(`${to.rank}|${to.slice}`, to);
    }
    return [...found.values()];
  }

  /** After the window, the chosen kinds or the ranks on screen changed. */
  follow(ranks: Rank[]): void {
    const kinds = flowKinds.get();
    for (const key of [...this.inWindow.keys()]) {
      const { rank, kind } = this.inWindow.get(key)!;
      if (!kinds.includes(kind) || !ranks.some((r) => r.key === rank)) {
        this.inWindow.delete(key);
      }
    }
    if (kinds.length === 0) {
      this.stop();
      return;
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.ask(ranks.slice(0, MOST_RANKS), kinds), SETTLE_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.asked.forEach((a) => a.controller.abort());
    this.asked.clear();
  }

  private ask(ranks: Rank[], kinds: readonly string[]): void {
    for (const rank of ranks) {
      const shift = shiftOf(rank);
      let [from, to] = quantised(viewport.from - shift, viewport.to - shift);
      const locked = boxLocked.get() ? box.get() : null;
      let lanes: string | undefined;
      if (locked !== null) {
        // A locked box keeps flows to itself (T-24).
        from = Math.floor(locked.from - shift);
        to = Math.ceil(locked.to - shift);
        lanes =
          locked.lanes === null
            ? undefined
            : list(locked.lanes.filter((l) => l.rank === rank.key).map((l) => l.lane));
      }
      for (const kind of kinds) {
        const id = `${rank.key}|${kind}`;
        const key = `${from}/${to}/${lanes ?? ""}`;
        if (this.inWindow.get(id)?.key === key || this.asked.get(id)?.key === key) {
          continue;
        }
        this.asked.get(id)?.controller.abort();
        const controller = new AbortController();
        this.asked.set(id, { key, controller });
        get<{ total: number; flows: FlowRow[] }>(
          "flows/window",
          { rank: rank.key, kind, from, to, lanes, limit: LIMIT },
          controller.signal,
        ).then(
          (reply) => {
            this.asked.delete(id);
            if (flowKinds.get().includes(kind)) {
              this.inWindow.set(id, { rank: rank.key, kind, key, ...reply });
              this.changed();
            }
          },
          () => void (this.asked.get(id)?.controller === controller && this.asked.delete(id)),
        );
      }
    }
  }

  /** All kinds that the ranks have, most frequent first. */
  async kindsOf(ranks: Rank[]): Promise<[kind: string, n: number][]> {
    await Promise.all(
      ranks.map(async (rank) => {
        if (!this.kinds.has(rank.key)) {
          const reply = await get<{ kinds: [string, number][] }>("flows/kinds", {
            rank: rank.key,
          }).catch(() => null);
          if (reply !== null) {
            this.kinds.set(rank.key, reply.kinds);
          }
        }
      }),
    );
    const sums = new Map<string, number>();
    for (const rank of ranks) {
      for (const [kind, n] of this.kinds.get(rank.key) ?? []) {
        sums.set(kind, (sums.get(kind) ?? 0) + n);
      }
    }
    return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  }
}
