/** What stands at first of the paragraph of a finding, without a document. */

/** A name that is too long without its middle: beginnings are alike, and ends tell names apart. */
export function shortName(name: string, most = 24): string {
  const head = Math.ceil((most - 1) / 2);
  return name.length <= most ? name : `${name.slice(0, head)}\u2026${name.slice(head + 1 - most)}`;
}

/** Its first sentence, whole however long, and the rest: "" where the first sentence is all. */
export function leadOf(text: string): [lead: string, rest: string] {
  const found = /[.!?](?=\s+[^\s.a-z])|[。！？]/.exec(text);
  const at = found === null ? text.length : found.index + found[0].length;
  return [text.slice(0, at).trim(), text.slice(at).trim()];
}
