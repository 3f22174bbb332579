/** What the program says and the page translates: the two lists are one. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { language, said } from "../src/words";
import { REMEDIES } from "../src/words/remedies";

/** The sentences of a C file's table PARTS: neighbouring literals are one text. */
function remediesOf(source: string): string[] {
  const table = source.slice(source.indexOf("PARTS[PS_N_CAPTURE_PARTS] = {"));
  const literals =
    table.slice(0, table.indexOf("\n};")).match(/"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*/g) ??
    [];
  const texts = literals.map((one) =>
    (one.match(/"(?:[^"\\]|\\.)*"/g) ?? []).map((part) => JSON.parse(part) as string).join(""),
  );
  return texts.filter((text) => text.endsWith("."));
}

test("each way to get what a capture lacks has its Chinese", () => {
  const told = remediesOf(readFileSync("../src/analyze/views/capture_parts.c", "utf8"));
  assert.ok(told.length > 25, `${told.length} remedies in capture_parts.c`);
  assert.deepEqual([...new Set(told)].sort(), Object.keys(REMEDIES).sort());
  language.set("zh");
  for (const text of told) {
    assert.match(said(text), /[\u4e00-\u9fff]/, text);
  }
  language.set("en");
  assert.deepEqual(told.map(said), told);
});
