/** What stands in a field whose text takes effect a breath later. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface Typed {
  text: string;
  type: (text: string) => void;
  /** This one takes effect: that it comes back as `known` says nothing of the letters that were typed since. */
  took: (text: string) => void;
}

/** `known`: the text that is in effect. Where it comes from elsewhere it replaces what was typed. */
export function useTyped(known: string): Typed {
  const [text, type] = useState(known);
  const own = useRef(known);
  const took = (value: string): void => {
    own.current = value;
  };
  useEffect(() => {
    if (known !== own.current) {
      own.current = known;
      type(known);
    }
  }, [known]);
  return { text, type, took };
}
