/** What stands at first of the paragraph of a finding, without a document. */

/** A first sentence that is longer ends at its first colon or semicolon. */
const LONG = 140;

/** [start, behind it]: the rest is "" where the first sentence is all. */
export function leadOf(text: string): [lead: string, rest: string] {
  const sentence = cut(text, /[.!?](?=\s+[^\s.a-z])|[。！？]/);
  const short = sentence[0].length > LONG ? cut(text, /[:;](?=\s)|[：；]/) : sentence;
  return short[0].length < sentence[0].length ? short : sentence;
}

function cut(text: string, end: RegExp): [string, string] {
  const found = end.exec(text);
  const at = found === null ? text.length : found.index + found[0].length;
  return [text.slice(0, at).trim(), text.slice(at).trim()];
}
