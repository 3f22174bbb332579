/** Parts of tiles as the server gives them: kept within a number of bytes, asked for together, given up when nobody wants
 * them any more.
 *
 * A tile is (rank, level, tile); a part is a lane of it (or whatever a user of this counts). Each frame calls begin(), then
 * want() for every part that it would have drawn and did not find, then end(), which starts what is missing and gives up what
 * nobody wanted in this frame. */

interface Chunk {
  rank: string;
  level: number;
  tile: number;
  parts: number[];
  bytes: number;
  used: number;
}

export interface Entry<T> {
  readonly value: T;
  readonly chunk: Chunk;
}

export type Tiles<T> = Map<number, Map<number, Entry<T>>>;

export interface Part<T> {
  value: T;
  bytes: number;
}

interface Request {
  key: string;
  parts: Set<number>;
  isWanted: boolean;
  controller: AbortController;
}

interface Wanted {
  rank: string;
  level: number;
  tile: number;
  parts: number[];
  isEager: boolean;
}

export interface StoreOptions<T> {
  fetch: (
    rank: string,
    level: number,
    tile: number,
    parts: number[],
    signal: AbortSignal,
  ) => Promise<Map<number, Part<T>>>;
  maxBytes: number;
  /** Asked for at once, at most. */
  maxParts?: number;
  maxRequests?: number;
  /** Something new is there. */
  arrived: () => void;
  now?: () => number;
}

/** After a failure a part is asked for again no sooner than this. */
const RETRY_MS = 2000;
const CHUNK_BYTES = 200;
const PART_BYTES = 120;

export class TileStore<T> {
  private readonly ranks = new Map<string, (Tiles<T> | undefined)[]>();
  private readonly chunks = new Set<Chunk>();
  private bytes = 0;
  private tick = 0;
  private readonly wanted = new Map<string, Wanted>();
  private readonly running = new Set<Request>();
  private readonly failedAt = new Map<string, number>();
  private readonly maxParts: number;
  private readonly maxRequests: number;
  private readonly now: () => number;
  /** The last failure, for the page to show. */
  failure: unknown = null;

  constructor(private readonly options: StoreOptions<T>) {
    this.maxParts = options.maxParts ?? 256;
    this.maxRequests = options.maxRequests ?? 6;
    this.now = options.now ?? (() => performance.now());
  }

  get bytesKept(): number {
    return this.bytes;
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  /** All that is kept of a level; undefined: nothing. */
  level(rank: string, level: number): Tiles<T> | undefined {
    return this.ranks.get(rank)?.[level];
  }

  /** Of a level's tiles; marks it as used. */
  get(tiles: Tiles<T> | undefined, tile: number, part: number): T | undefined {
    const entry = tiles?.get(tile)?.get(part);
    if (entry === undefined) {
      return undefined;
    }
    entry.chunk.used = this.tick;
    return entry.value;
  }

  begin(): void {
    this.tick++;
    this.wanted.clear();
  }

  /** `isEager`: would be good to have, after all that is on screen. */
  want(rank: string, level: number, tile: number, part: number, isEager = false): void {
    const key = `${rank}/${level}/${tile}`;
    const there = this.wanted.get(key);
    if (there === undefined) {
      this.wanted.set(key, { rank, level, tile, parts: [part], isEager });
    } else {
      there.parts.push(part);
      there.isEager = there.isEager && isEager;
    }
  }

  end(): void {
    for (const request of this.running) {
      if (!this.wanted.has(request.key)) {
        request.isWanted = false;
        request.controller.abort();
        this.running.delete(request);
      }
    }
    this.startWanted(false);
    this.startWanted(true);
  }

  /** Nothing is wanted any more. */
  stop(): void {
    this.begin();
    this.end();
  }

  forget(rank: string): void {
    for (const chunk of [...this.chunks]) {
      if (chunk.rank === rank) {
        this.drop(chunk);
      }
    }
  }

  private startWanted(eager: boolean): void {
    for (const [key, want] of this.wanted) {
      if (want.isEager !== eager) {
        continue;
      }
      let parts = this.stillMissing(key, want.parts);
      while (parts.length > 0) {
        // What is only good to have leaves room for what comes with the next frame.
        if (this.running.size >= (eager ? 2 : this.maxRequests)) {
          return;
        }
        this.start(key, want, parts.slice(0, this.maxParts));
        parts = parts.slice(this.maxParts);
      }
    }
  }

  private stillMissing(key: string, parts: number[]): number[] {
    const failed = this.failedAt.get(key);
    if (failed !== undefined && this.now() - failed < RETRY_MS) {
      return [];
    }
    let missing = [...new Set(parts)];
    for (const request of this.running) {
      if (request.key === key) {
        missing = missing.filter((part) => !request.parts.has(part));
      }
    }
    return missing;
  }

  private start(key: string, want: Wanted, parts: number[]): void {
    const controller = new AbortController();
    const request: Request = { key, parts: new Set(parts), isWanted: true, controller };
    this.running.add(request);
    const { rank, level, tile } = want;
    this.options.fetch(rank, level, tile, parts, controller.signal).then(
      (found) => {
        this.running.delete(request);
        this.failedAt.delete(key);
        this.keep(rank, level, tile, parts, found);
        this.options.arrived();
      },
      (error: unknown) => {
        this.running.delete(request);
        if (request.isWanted) {
          this.failedAt.set(key, this.now());
          this.failure = error;
          setTimeout(this.options.arrived, RETRY_MS);
        }
      },
    );
  }

  private keep(
    rank: string,
    level: number,
    tile: number,
    asked: number[],
    found: Map<number, Part<T>>,
  ): void {
    const chunk: Chunk = { rank, level, tile, parts: [], bytes: CHUNK_BYTES, used: this.tick };
    let levels = this.ranks.get(rank);
    if (levels === undefined) {
      this.ranks.set(rank, (levels = []));
    }
    const tiles = (levels[level] ??= new Map<number, Map<number, Entry<T>>>());
    let there = tiles.get(tile);
    if (there === undefined) {
      tiles.set(tile, (there = new Map<number, Entry<T>>()));
    }
    for (const part of asked) {
      const one = found.get(part);
      if (one !== undefined) {
        there.set(part, { value: one.value, chunk });
        chunk.parts.push(part);
        chunk.bytes += one.bytes + PART_BYTES;
      }
    }
    this.chunks.add(chunk);
    this.bytes += chunk.bytes;
    if (this.bytes > this.options.maxBytes) {
      this.evict();
    }
  }

  /** Down to four fifths, the longest unused first; never what this frame has drawn. */
  private evict(): void {
    const oldest = [...this.chunks].sort((a, b) => a.used - b.used);
    for (const chunk of oldest) {
      if (this.bytes <= this.options.maxBytes * 0.8 || chunk.used >= this.tick) {
        return;
      }
      this.drop(chunk);
    }
  }

  private drop(chunk: Chunk): void {
    this.chunks.delete(chunk);
    this.bytes -= chunk.bytes;
    const tiles = this.ranks.get(chunk.rank)?.[chunk.level];
    const there = tiles?.get(chunk.tile);
    if (tiles === undefined || there === undefined) {
      return;
    }
    for (const part of chunk.parts) {
      if (there.get(part)?.chunk === chunk) {
        there.delete(part);
      }
    }
    if (there.size === 0) {
      tiles.delete(chunk.tile);
    }
  }
}
