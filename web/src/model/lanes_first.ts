/** Lanes are what people wait for: until the first of them are drawn, what the page shows beside them is not asked for, so that the server
 * works for them alone. */

/** For so long at most: there may be none to draw. */
const MOST_MS = 500;

let isExpected = false;
const waiting: (() => void)[] = [];

/** A timeline is there, and has not drawn any. */
export function expectLanes(): void {
  isExpected = true;
}

export function lanesSettled(): void {
  isExpected = false;
  waiting.splice(0).forEach((go) => go());
}

export function afterLanes(): Promise<void> {
  return isExpected
    ? new Promise((go) => {
        waiting.push(go);
        setTimeout(go, MOST_MS);
      })
    : Promise.resolve();
}
