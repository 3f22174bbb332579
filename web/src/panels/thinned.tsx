/** That a capture holds a part only, said where the figures stand that it makes smaller. */
import type { Rank } from "../api/types";
import { thinnedText } from "../model/notes";

export function Thinned({ ranks }: { ranks: readonly Rank[] }) {
  const text = thinnedText(ranks);
  return text === "" ? null : <p class="thinned">{text}</p>;
}
