/** What may be typed next in a query: tables, columns of those that it names, functions and words of SQL. Without a document. */
import type { Schema, SchemaTable } from "../api/types";

export type CompletionKind = "table" | "column" | "function" | "word";

export interface Completion {
  /** What is put there. */
  text: string;
  kind: CompletionKind;
  /** What it is, in a few words. */
  note: string;
}

export interface Completions {
  /** The part of the text that is replaced. */
  from: number;
  to: number;
  items: Completion[];
}

const MOST = 60;
const NAME = /[A-Za-z_0-9]/;

interface Token {
  text: string;
  at: number;
}

/** Names, and signs one by one; `isOpen`: the text ends inside of a string or comment. */
function tokensOf(text: string): { tokens: Token[]; isOpen: boolean } {
  const tokens: Token[] = [];
  const pattern =
    /--[^\n]*(\n|$)|\/\*[\s\S]*?(\*\/|$)|'(?:[^']|'')*('|$)|"(?:[^"]|"")*("|$)|[A-Za-z_][A-Za-z_0-9]*|\d[\w.]*|\S/g;
  for (const found of text.matchAll(pattern)) {
    const piece = found[0];
    const isAtEnd = found.index + piece.length === text.length;
    if (piece.startsWith("--")) {
      if (isAtEnd && !piece.endsWith("\n")) {
        return { tokens, isOpen: true };
      }
    } else if (piece.startsWith("/*") && piece.length > 1) {
      if (isAtEnd && (piece.length < 4 || !piece.endsWith("*/"))) {
        return { tokens, isOpen: true };
      }
    } else if (/^['"]/.test(piece) && isAtEnd && isUnended(piece)) {
      return { tokens, isOpen: true };
    } else {
      tokens.push({
        text: piece.startsWith('"') ? piece.slice(1, -1).replace(/""/g, '"') : piece,
        at: found.index,
      });
    }
  }
  return { tokens, isOpen: false };
}

const isUnended = (piece: string): boolean =>
  piece.length < 2 || !piece.endsWith(piece[0]) || (piece.split(piece[0]).length - 1) % 2 === 1;

/** Words behind which a name of a table stands. */
const BEFORE_TABLE = new Set(["FROM", "JOIN"]);
/** Words that end a list of tables, or are no alias. */
const NO_ALIAS = new Set(
  "ON USING WHERE GROUP ORDER HAVING LIMIT UNION EXCEPT INTERSECT JOIN LEFT INNER CROSS NATURAL FULL RIGHT WINDOW SELECT AS SET OFFSET".split(
    " ",
  ),
);

interface Named {
  table: SchemaTable;
  alias: string;
}

const isName = (text: string | undefined): text is string =>
  text !== undefined && /^[A-Za-z_]/.test(text);

/** The tables that a query names, each with the name that it has there. */
export function tablesNamed(text: string, schema: Schema): Named[] {
  const { tokens } = tokensOf(text);
  const byName = new Map(schema.tables.map((table) => [table.name.toLowerCase(), table]));
  const out: Named[] = [];
  let lists = false;
  for (let i = 0; i < tokens.length; i++) {
    const word = tokens[i].text.toUpperCase();
    if (!BEFORE_TABLE.has(word) && !(lists && word === ",")) {
      lists = lists && !NO_ALIAS.has(word) && word !== "(" && word !== ")";
      continue;
    }
    lists = true;
    const table = byName.get(tokens[i + 1]?.text.toLowerCase() ?? "");
    if (table !== undefined) {
      i++;
      const as = tokens[i + 1]?.text.toUpperCase() === "AS" ? 2 : 1;
      const alias = tokens[i + as]?.text;
      const isAlias = isName(alias) && !NO_ALIAS.has(alias.toUpperCase());
      out.push({ table, alias: isAlias ? alias : table.name });
      i += isAlias ? as : 0;
    }
  }
  return out;
}

const columnsOf = (table: SchemaTable): Completion[] =>
  table.columns.map(([name, type, unit, text]) => ({
    text: name,
    kind: "column",
    note: [unit === "" ? type : unit, text].filter((part) => part !== "").join(", "),
  }));

const tablesOf = (schema: Schema): Completion[] =>
  schema.tables.map((table) => ({ text: table.name, kind: "table", note: table.text }));

const functionsOf = (schema: Schema): Completion[] =>
  schema.functions.map(([call, text]) => ({
    text: call.slice(0, call.indexOf("(") + 1),
    kind: "function",
    note: `${call}: ${text}`,
  }));

function wordsOf(schema: Schema): Completion[] {
  const own = new Set(functionsOf(schema).map((f) => f.text));
  return schema.words
    .filter((word) => !own.has(word))
    .map((text) => ({ text, kind: text.endsWith("(") ? "function" : "word", note: "" }));
}

/** Those that begin with what is typed, then those that have it inside; each once. */
function fitting(all: Completion[], typed: string): Completion[] {
  const low = typed.toLowerCase();
  const seen = new Set<string>();
  const begins: Completion[] = [];
  const holds: Completion[] = [];
  for (const item of all) {
    const text = item.text.toLowerCase();
    if (seen.has(text) || !text.includes(low)) {
      continue;
    }
    seen.add(text);
    if (text.startsWith(low)) {
      begins.push(item);
    } else if (low.length > 1 && item.kind !== "word") {
      holds.push(item);
    }
  }
  return [...begins, ...holds].slice(0, MOST);
}

/** What fits at the caret; no items: inside of a text or comment, or nothing is called that. */
export function completionsAt(text: string, caret: number, schema: Schema): Completions {
  let from = caret;
  while (from > 0 && NAME.test(text[from - 1])) {
    from--;
  }
  let to = caret;
  while (to < text.length && NAME.test(text[to])) {
    to++;
  }
  const typed = text.slice(from, caret);
  const { tokens, isOpen } = tokensOf(text.slice(0, from));
  const none = { from, to, items: [] };
  if (isOpen || /^\d/.test(typed)) {
    return none;
  }
  // What is being typed is no alias yet.
  const named = tablesNamed(`${text.slice(0, from)} ${text.slice(to)}`, schema);
  const last = tokens[tokens.length - 1]?.text ?? "";
  if (last === "." && tokens[tokens.length - 1].at === from - 1) {
    const owner = tokens[tokens.length - 2]?.text.toLowerCase();
    const of = named.filter(
      ({ table, alias }) => alias.toLowerCase() === owner || table.name.toLowerCase() === owner,
    );
    return {
      from,
      to,
      items: fitting(
        of.flatMap(({ table }) => columnsOf(table)),
        typed,
      ),
    };
  }
  if (BEFORE_TABLE.has(last.toUpperCase())) {
    return { from, to, items: fitting(tablesOf(schema), typed) };
  }
  const columns = named.flatMap(({ table }) => columnsOf(table));
  const aliases = named
    .filter(({ table, alias }) => alias !== table.name)
    .map(({ table, alias }): Completion => ({ text: alias, kind: "table", note: table.name }));
  const all = [...columns, ...aliases, ...functionsOf(schema), ...wordsOf(schema)];
  return { from, to, items: fitting(typed === "" ? [] : all, typed) };
}

/** Long queries of one line as people write them: clauses begin lines. What has lines already stays. */
export const inLines = (sql: string): string =>
  sql.includes("\n")
    ? sql
    : sql.replace(
        / (FROM|JOIN|LEFT JOIN|WHERE|GROUP BY|HAVING|ORDER BY|LIMIT|UNION ALL) (?=(?:[^']*'[^']*')*[^']*$)/g,
        "\n$1 ",
      );

/** Where in a text a byte of its UTF-8 lies. */
export function indexOfByte(text: string, byte: number): number {
  let bytes = 0;
  let index = 0;
  for (const letter of text) {
    if (bytes >= byte) {
      break;
    }
    const code = letter.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    index += letter.length;
  }
  return index;
}
