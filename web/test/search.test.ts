import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, foundByCapture, query, search } from "../src/model/search";
import { box, boxLocked, ranks } from "../src/model/session";
import type { Rank, Session } from "../src/api/types";

test("what is found is counted anew when the box is locked, and when it is let go", async () => {
  const asked: string[] = [];
  Object.assign(globalThis, {
    sessionStorage: { getItem: () => null },
    fetch: (address: string) => {
      asked.push(address);
      const total = address.includes("from=") ? 0 : 3;
      return Promise.resolve(new Response(JSON.stringify({ total, ranks: [] })));
    },
  });
  const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 0));
  const total = (): number | undefined => counts.get()?.total;
  ranks.set([{ key: "a", rank: 0, state: "ready", origin_ns: "0" } as Rank]);
  box.set({ from: 10, to: 20, lanes: [{ rank: "a", lane: 4, rows: null }] });
  boxLocked.set(true);
  await search({ ...query.get(), text: "MatMul" });
  assert.equal(total(), 0);
  boxLocked.set(false);
  await settle();
  assert.equal(total(), 3, "the whole again");
  box.set(null);
  await settle();
  assert.equal(asked.length, 2, "a box that is not locked changes nothing");
});

test("what is found in two captures is counted for each", () => {
  const known = [0, 0, 1].map((cluster, i) => ({ key: `r${i}`, cluster }) as Rank);
  const found = {
    total: 9,
    names: [],
    ranks: [2, 3, 4].map((total, i) => ({ rank: `r${i}`, total, lanes: [] })),
  };
  const open = (...paths: string[]) => ({ clusters: paths.map((path) => ({ path })) }) as Session;
  assert.deepEqual(foundByCapture(found, open("runs/new", "runs/old"), known), [
    ["new", 5],
    ["old", 4],
  ]);
  assert.equal(foundByCapture(found, open("runs/new"), known), null);
});
