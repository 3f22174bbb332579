/** Tabs of one browser at one server: one that was opened by an address without a token asks the others for theirs. Only pages of this
 * origin hear one another. */
import { keepToken, tokenNow } from "./client";

const NAME = "pipescope-token";
const WANTED = "who has a token?";
/** Another tab answers at once, or there is none that could. */
const ANSWER_MS = 300;

/** Answers other tabs while the server takes the token of this one. */
export function lendToken(isTaken: () => boolean): void {
  const tabs = new BroadcastChannel(NAME);
  tabs.addEventListener("message", ({ data }) => {
    const token = tokenNow();
    if (data === WANTED && token !== null && isTaken()) {
      tabs.postMessage({ token });
    }
  });
}

/** Asks other tabs for it; false: none has it, or it came otherwise meanwhile. */
export async function borrowToken(): Promise<boolean> {
  const tabs = new BroadcastChannel(NAME);
  const token = await new Promise<string | null>((done) => {
    tabs.addEventListener("message", ({ data }: MessageEvent<{ token?: unknown }>) => {
      if (typeof data.token === "string") {
        done(data.token);
      }
    });
    setTimeout(() => done(null), ANSWER_MS);
    tabs.postMessage(WANTED);
  });
  tabs.close();
  if (token === null || tokenNow() !== null) {
    return false;
  }
  keepToken(token);
  return true;
}
