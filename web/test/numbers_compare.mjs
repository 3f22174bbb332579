// One table of the page beside the same table of the command line, cell by cell.
import { shownName } from "./page.mjs";
import { faultOf, larger } from "./numbers_values.mjs";
import { commandName } from "./numbers_sources.mjs";
import { MOST_ROWS } from "./numbers_document.mjs";

/** More rows than that are not in sight together (numbers.mjs, ROOM). */
const MOST_DRAWN = 120;

/** Columns that are the page's own, and that no command has: by table ("": of any), with what they are. */
const OWN_COLUMNS = {
  "": { key: "the server's name of a rank" },
  ranks: { Progress: "how far a rank is read", Memory: "what it takes of the server's memory" },
};
const isOwn = (table, column) =>
  [OWN_COLUMNS[""], OWN_COLUMNS[table] ?? {}].some((names) => names[column] !== undefined);

/** What a row is told by. */
const textKey = (cells) => cells.join("\n");
const asOnPage = (text) => shownName(text).replace(/^step(\d+)$/, "step $1");

/** Pairs each row of the page with one of the command that has the same texts, and the same numbers where there is one. */
class Pairing {
  constructor(rows, columns) {
    this.columns = columns;
    this.texts = columns.filter((c) => !c.isNumber && c.key !== undefined);
    this.numbers = columns.filter((c) => c.isNumber && c.key !== undefined);
    this.used = new Set();
    this.by = new Map();
    rows.forEach((row, i) => {
      const key = textKey(this.texts.map((c) => asOnPage(String(row[c.key] ?? "\u2013"))));
      this.by.set(key, [...(this.by.get(key) ?? []), i]);
    });
    this.rows = rows;
  }

  faults(cells, row) {
    return this.numbers.flatMap((column) => {
      const fault = faultOf(
        cells[column.at],
        row[column.key],
        column.unit,
        column.shown || column.unit,
      );
      return fault === null ? [] : [{ column, fault }];
    });
  }

  /** The row that differs least, and how; names that the page has words of its own for are told by all their numbers. null: there is none. */
  nearest(cells) {
    const own = this.by.get(textKey(this.texts.map((c) => cells[c.at])));
    const best = this.nearestOf(cells, own ?? [...this.rows.keys()]);
    if (best === null || (own === undefined && best.faults.length > 0)) {
      return null;
    }
    this.used.add(best.i);
    return best;
  }

  nearestOf(cells, own) {
    let best = null;
    for (const i of own) {
      if (this.used.has(i)) {
        continue;
      }
      const faults = this.faults(cells, this.rows[i]);
      if (best === null || faults.length < best.faults.length) {
        best = { i, row: this.rows[i], faults };
      }
      if (faults.length === 0) {
        break;
      }
    }
    return best;
  }
}

/** { faults, n }: sentences, and how many numbers were compared. */
export function compare(where, table, rows) {
  const name = `${where}: ${table.of}`;
  if (rows === null || rows === undefined) {
    const isEmpty = rows === null && table.total === 0;
    return { faults: isEmpty ? [] : [`${name}: the command line has no such table`], n: 0 };
  }
  if (table.isPart ? table.total > rows.length : table.total !== rows.length) {
    return {
      faults: [`${name}: ${table.total} rows on the page, ${rows.length} of the command`],
      n: 0,
    };
  }
  if (table.total === 0) {
    return { faults: [], n: 0 };
  }
  const columns = table.columns.map((column, at) => ({
    ...column,
    at,
    key: commandName(column, rows[0]),
  }));
  const missing = columns.filter(
    (c) => c.isNumber && c.key === undefined && !isOwn(table.of, c.name),
  );
  const faults = missing.map(
    (c) => `${name}: the command has no column ${c.name}, but ${Object.keys(rows[0]).join(", ")}`,
  );
  if (table.drawn > MOST_DRAWN) {
    faults.push(`${name}: ${table.drawn} rows are drawn at once`);
  }
  if (table.rows.length < Math.min(table.total, MOST_ROWS)) {
    faults.push(`${name}: ${table.rows.length} of ${table.total} rows were read`);
  }
  const pairing = new Pairing(rows, columns);
  for (const [i, cells] of table.rows) {
    const found = pairing.nearest(cells);
    if (found === null) {
      faults.push(`${name}: row ${i}: the command has no row ${cells.join(" | ")}`);
      continue;
    }
    for (const { column, fault } of found.faults) {
      const unit = column.shown === "" ? "" : ` ${column.shown}`;
      faults.push(
        `${name}: row ${i} (${cells[0]}): ${column.name} ${fault}: ${cells[column.at]}${unit} on the page, ${found.row[column.key]} ${column.unit} of the command`,
      );
    }
  }
  return { faults, n: table.rows.length * pairing.numbers.length };
}

/** Whether one number of the command that were a little larger would be found: that the comparison looks. */
export function findsWrong(where, table, rows) {
  const [, cells] = table.rows[0];
  const tried = table.columns.find(
    (c, at) => c.isNumber && /[1-9]/.test(cells[at]) && commandName(c, rows[0]) !== undefined,
  );
  if (tried === undefined) {
    return true; // nothing but zeros in it
  }
  const key = commandName(tried, rows[0]);
  const wrong = rows.map((row) => ({ ...row, [key]: larger(row[key]) }));
  return compare(where, table, wrong).faults.length > 0;
}
