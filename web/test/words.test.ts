/** What the program advises and the page says in Chinese: the lists of both are the same. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { language, told } from "../src/words";
import { PARTS, REMEDIES } from "../src/words/remedies";

const source = readFileSync("../src/analyze/views/capture_parts.c", "utf8");

/** From a place in a C file to the end of the table that begins there. */
function table(begin: string): string {
  const at = source.indexOf(begin);
  assert.ok(at >= 0, begin);
  return source.slice(at, source.indexOf("};", at));
}

/** Literals of a piece of C, neighbouring ones as one text; null: NULL. */
const literals = (piece: string): (string | null)[] =>
  [...piece.matchAll(/((?:"(?:[^"\\]|\\.)*"\s*)+)|\bNULL\b/g)].map(([, text]) =>
    text === undefined
      ? null
      : (text.match(/"(?:[^"\\]|\\.)*"/g) ?? []).map((p) => JSON.parse(p) as string).join(""),
  );

const families = literals(table("FAMILIES[N_FAMILIES] = {"));

/** Name, what it is, and a remedy for each family. */
const parts = table("PARTS[PS_N_CAPTURE_PARTS] = {")
  .split(/\[PS_CAPTURE_\w+\] =/)
  .slice(1)
  .map(literals);

const ids = (): Map<string, string> => {
  const found = new Map<string, string>();
  for (const [name, , ...remedies] of parts) {
    remedies.forEach((remedy, i) => remedy !== null && found.set(`${name}.${families[i]}`, remedy));
  }
  const several = table("REMEDIES[N_FAMILIES] = {");
  for (const [, family] of several.matchAll(/\[FAMILY_(\w+)\]/g)) {
    found.set(`several.${family.toLowerCase()}`, "");
  }
  return found.set("timeline.missing", "");
};

test("each way to get what a capture lacks has its Chinese, by its id", () => {
  assert.ok(ids().size > 35, `${ids().size} remedies in capture_parts.c`);
  assert.deepEqual([...ids().keys()].sort(), Object.keys(REMEDIES).sort());
  assert.deepEqual(parts.map(([name]) => name).sort(), Object.keys(PARTS).sort());
  language.set("zh");
  for (const [id, english] of ids()) {
    assert.match(told("remedy", id, english), /[\u4e00-\u9fff]/, id);
  }
  assert.equal(told("remedy", "one.newer", "Do so."), "Do so.", "the program is newer");
  language.set("en");
  for (const [id, english] of ids()) {
    assert.equal(told("remedy", id, english), english);
  }
});
