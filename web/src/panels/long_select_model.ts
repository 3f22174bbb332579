/** Which options a field offers for what was typed, without a document. */

/** Those with all the words of the text, in their order, at most so many; one that is the text itself leads. */
export function offered<T extends string>(
  options: readonly (readonly [value: T, text: string])[],
  typed: string,
  most: number,
): (readonly [value: T, text: string])[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found: (readonly [value: T, text: string])[] = [];
  for (const option of options) {
    const text = option[1].toLowerCase();
    if (option[1] === typed) {
      found.unshift(option);
    } else if (found.length < most && words.every((word) => text.includes(word))) {
      found.push(option);
    }
  }
  return found.slice(0, most);
}
