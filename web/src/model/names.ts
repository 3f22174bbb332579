/** Texts of names, by rank: asked for in batches, only those that there is room to write. */
import { post } from "../api/client";

const AT_ONCE = 4096;
/** Of one rank; more, and it begins anew. */
const MOST = 60_000;

interface OfRank {
  texts: Map<number, string>;
  wanted: Set<number>;
  asked: Set<number>;
}

export class Names {
  private readonly ranks = new Map<string, OfRank>();
  private isScheduled = false;

  constructor(
    private readonly arrived: () => void,
    private readonly ask: (
      rank: string,
      names: number[],
    ) => Promise<{ names: [string, number][] }> = (rank, names) => post("names", { rank, names }),
  ) {}

  /** The text, or undefined and it is asked for. */
  get(rank: string, name: number): string | undefined {
    let of = this.ranks.get(rank);
    if (of === undefined) {
      this.ranks.set(rank, (of = { texts: new Map(), wanted: new Set(), asked: new Set() }));
    }
    const text = of.texts.get(name);
    if (text === undefined && !of.asked.has(name)) {
      of.wanted.add(name);
      this.schedule();
    }
    return text;
  }

  private schedule(): void {
    if (!this.isScheduled) {
      this.isScheduled = true;
      queueMicrotask(() => {
        this.isScheduled = false;
        for (const [rank, of] of this.ranks) {
          this.flush(rank, of);
        }
      });
    }
  }

  private flush(rank: string, of: OfRank): void {
    if (of.wanted.size === 0) {
      return;
    }
    const names = [...of.wanted];
    of.wanted.clear();
    for (let i = 0; i < names.length; i += AT_ONCE) {
      const some = names.slice(i, i + AT_ONCE);
      some.forEach((name) => of.asked.add(name));
      this.ask(rank, some).then(
        (reply) => {
          if (of.texts.size > MOST) {
            of.texts.clear();
          }
          some.forEach((name, k) => {
            of.asked.delete(name);
            of.texts.set(name, reply.names[k]?.[0] ?? "");
          });
          this.arrived();
        },
        () => void setTimeout(() => some.forEach((name) => of.asked.delete(name)), 2000),
      );
    }
  }
}
