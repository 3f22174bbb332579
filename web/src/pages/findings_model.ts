/** What stands at first of the paragraph of a finding, without a document. */

/** Its first sentence, whole however long, and the rest: "" where the first sentence is all. */
export function leadOf(text: string): [lead: string, rest: string] {
  const found = /[.!?](?=\s+[^\s.a-z])|[。！？]/.exec(text);
  const at = found === null ? text.length : found.index + found[0].length;
  return [text.slice(0, at).trim(), text.slice(at).trim()];
}
