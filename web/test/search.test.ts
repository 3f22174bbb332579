import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, foundByCapture, listParamsOf, place, query, search } from "../src/model/search";
import { box, boxLocked, forgetReference, offsets, ranks, selected } from "../src/model/session";
import type { Rank, Ref, Session } from "../src/api/types";

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

test("the counter follows the selection, where that was found", async () => {
  const hits = [3, 5, 8];
  Object.assign(globalThis, {
    fetch: (address: string) => {
      const asked = new URL(address, "http://host").searchParams;
      if (!address.includes("step")) {
        return Promise.resolve(new Response(JSON.stringify({ total: 3, ranks: [], names: [] })));
      }
      const before = hits.filter((slice) => slice < Number(asked.get("slice"))).length - 1;
      const index = asked.has("n") ? Number(asked.get("n")) : before;
      const slice = hits[index];
      const ref = slice === undefined ? null : { rank: "a", slice };
      return Promise.resolve(
        new Response(JSON.stringify({ index: ref === null ? -1 : index, total: 3, ref })),
      );
    },
  });
  const select = async (slice: number | null): Promise<number> => {
    selected.set(slice === null ? null : ({ rank: "a", slice } as Ref));
    await new Promise((done) => setTimeout(done, 5));
    return place.get();
  };
  await search({ ...query.get(), text: "MatMul" });
  assert.equal(await select(3), 0);
  assert.equal(await select(8), 2);
  assert.equal(await select(6), -1, "not of them");
  assert.equal(await select(5), 1);
  assert.equal(await select(null), -1);
  await search({ ...query.get(), text: "" });
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

test("the list has times of the view: of a rank that was moved, and of one whose time begins elsewhere", () => {
  forgetReference();
  const ready = (key: string, origin_ns: string): Rank =>
    ({ key, state: "ready", origin_ns, start: 0, end: 1000 }) as Rank;
  ranks.set([ready("a", "100"), ready("b", "150")]);
  assert.equal(listParamsOf(query.get(), null).moved, undefined);
  const inLane = listParamsOf(query.get(), { rank: "b", lane: 2 });
  assert.deepEqual([inLane.ranks, inLane.lanes, inLane.moved], ["b", 2, "b:50"]);
  offsets.set(new Map([["b", -7]]));
  assert.equal(listParamsOf(query.get(), null).moved, "b:-7");
  offsets.set(new Map());
  forgetReference();
});
