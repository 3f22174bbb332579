/** A value that tells when it changes. State of the page is a few of these; components read them with `useAtom`.
 *
 * Not @preact/signals: there a component that reads a signal is no longer drawn with the component around it while its properties are
 * the same objects, and names, tip and corner of the timeline are drawn from objects that change in place (Timeline, LaneTree, Rows);
 * and what is set while listeners are told is told after them, where show() (model/session.ts) counts on being told at once. */
import { useEffect, useState } from "preact/hooks";

export class Atom<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(value: T): void {
    if (!Object.is(value, this.value)) {
      this.value = value;
      this.changed();
    }
  }

  update(change: (value: T) => T): void {
    this.set(change(this.value));
  }

  /** For values that were changed in place. */
  changed(): void {
    for (const listener of [...this.listeners]) {
      listener();
    }
  }

  /** Returns how to stop. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

export function useAtom<T>(atom: Atom<T>): T {
  const [, tick] = useState(0);
  const shown = atom.get();
  useEffect(() => {
    // It may have changed between the drawing and now.
    if (!Object.is(shown, atom.get())) {
      tick((n) => n + 1);
    }
    return atom.listen(() => tick((n) => n + 1));
  }, [atom]);
  return shown;
}
