/** Which options a field offers for what was typed, without a document. */

/** Those with all the words of the text, at most so many: one that is the text itself leads, then those that begin with it, each in
 * their order. */
export function offered<T extends string>(
  options: readonly (readonly [value: T, text: string])[],
  typed: string,
  most: number,
): (readonly [value: T, text: string])[] {
  const wanted = typed.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter(Boolean);
  const [equal, first, others]: (readonly [value: T, text: string])[][] = [[], [], []];
  for (const option of options) {
    const text = option[1].toLowerCase();
    if (option[1] === typed) {
      equal.push(option);
    } else if (text.startsWith(wanted)) {
      first.push(option);
    } else if (words.every((word) => text.includes(word))) {
      others.push(option);
    }
  }
  return [...equal, ...first, ...others].slice(0, most);
}
