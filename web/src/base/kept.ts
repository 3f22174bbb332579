/** What this browser keeps from visit to visit, by name. */
const keyOf = (name: string): string => `pipescope-${name}`;

export function kept<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(keyOf(name));
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback; // no storage, or something else's
  }
}

/** False: it is for this visit only. */
export function keep(name: string, value: unknown): boolean {
  try {
    localStorage.setItem(keyOf(name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Another window of this browser has changed it. */
export const onKept = (name: string, changed: () => void): void =>
  addEventListener("storage", (e) => e.key === keyOf(name) && changed());
