/** Which names the search matches: slices of others step back while something is searched for. By rank and number of a name. */
import type { SearchCounts } from "../api/types";
import type { Names } from "../model/names";
import type { Query } from "../model/search";

const UNKNOWN = 0;
export const MATCH = 1;
const OTHER = 2;

/** As the server matches names; null: nothing is searched for. What also looks into arguments is known by the names found. */
export function nameTest(q: Query, found: SearchCounts | null): ((name: string) => boolean) | null {
  if (q.text === "") {
    return null;
  }
  if (q.args || q.regex) {
    const names = new Set(found?.names.map(([text]) => text) ?? []);
    return found === null ? null : (name) => names.has(name);
  }
  const fold = (text: string): string => (q.matchCase ? text : text.toLowerCase());
  const wanted = fold(q.text);
  if (!q.word) {
    return (name) => fold(name).includes(wanted);
  }
  const isWord = (char: string | undefined): boolean =>
    char !== undefined && /[\p{L}\p{N}_]/u.test(char);
  return (name) => {
    const text = fold(name);
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
      if (!isWord(text[at - 1]) && !isWord(text[at + wanted.length])) {
        return true;
      }
    }
    return false;
  };
}

export class Matches {
  private readonly ranks = new Map<string, Uint8Array>();
  private test: ((name: string) => boolean) | null = null;
  private known: Uint8Array | null = null;
  private rank = "";

  constructor(private readonly names: Names) {}

  set(test: ((name: string) => boolean) | null): void {
    this.test = test;
    this.ranks.clear();
    this.known = null;
  }

  get isOn(): boolean {
    return this.test !== null;
  }

  /** Before is() is asked about names of a rank. */
  begin(rank: string): void {
    this.rank = rank;
    this.known = this.ranks.get(rank) ?? null;
  }

  is(name: number): boolean {
    let known = this.known;
    if (known === null || name >= known.length) {
      const grown = new Uint8Array(Math.max(1024, 2 ** Math.ceil(Math.log2(name + 1))));
      grown.set(known ?? []);
      this.ranks.set(this.rank, (this.known = known = grown));
    }
    if (known[name] === UNKNOWN) {
      const text = this.names.get(this.rank, name);
      if (text === undefined) {
        return false;
      }
      known[name] = this.test?.(text) === true ? MATCH : OTHER;
    }
    return known[name] === MATCH;
  }
}
