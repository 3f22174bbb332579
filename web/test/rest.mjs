// When a page is at rest: what tests wait for in place of a time that is long enough on most machines.

/**
 * Runs in the page before its own scripts. Short waits of the page, which spare a person's eyes and the server (the address follows by a quarter of
 * a second, a filter waits for the next letter), are made shorter, as a test does not type.
 */
function watch() {
  const SHORT_MS = 250;
  const SHORTER_MS = 15;
  const { setTimeout, clearTimeout, fetch } = window;
  const waits = new Set();
  let asked = 0;
  window.setTimeout = (act, ms = 0, ...args) => {
    if (typeof act !== "function" || ms > SHORT_MS) {
      return setTimeout(act, ms, ...args);
    }
    const id = setTimeout(
      () => {
        waits.delete(id);
        act(...args);
      },
      Math.min(ms, SHORTER_MS),
    );
    waits.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    waits.delete(id);
    clearTimeout(id);
  };
  window.fetch = async (what, ...more) => {
    if (String(what).startsWith("/api/events")) {
      return fetch(what, ...more); // it is open as long as nothing happens
    }
    asked++;
    try {
      return await fetch(what, ...more);
    } finally {
      asked--;
    }
  };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  window.atRest = async (most) => {
    const end = performance.now() + most;
    await frame();
    for (let still = 0; still < 2 && performance.now() < end;) {
      await frame();
      still = waits.size === 0 && asked === 0 ? still + 1 : 0;
    }
  };
}

export const watchRest = (context) => context.addInitScript(watch);

/**
 * Until the page has drawn what it knows, waits for no answer of the server and has put into the address what is seen. Answers may take longer than
 * `most`: whoever needs one waits for what it brings.
 */
export const atRest = (page, most = 2000) => page.evaluate((ms) => window.atRest?.(ms), most);
