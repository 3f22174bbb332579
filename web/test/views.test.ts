/** What leads to a place: captures in addresses, and views that people keep. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Rank, Session } from "../src/api/types";
import { captureIds } from "../src/model/captures";
import { ranks, session } from "../src/model/session";
import { query } from "../src/model/search";
import {
  bottomTab,
  shownEvents,
  systemRank,
  systemView,
  viewport,
  type BottomTab,
} from "../src/model/timeline";
import { idsOf, keysOf } from "../src/model/url_state";
import { applyTimelineState, timelineState } from "../src/model/view_state";
import { part as summary } from "../src/pages/summary_state";
import {
  addViews,
  lackedBy,
  parseViews,
  views,
  viewsFile,
  viewsOf,
  type SavedView,
} from "../src/model/views";

/** Two captures of two ranks each, in this order. */
function openTwo(first: string, second: string): void {
  const rank = (cluster: number, i: number, of: string): Rank =>
    ({
      key: `00000000000${cluster}${i}aaa`,
      id: `${of}${i}`.padStart(16, "0"),
      cluster,
      rank: i,
      label: "",
      state: "waiting",
    }) as Rank;
  ranks.set([rank(0, 0, first), rank(0, 1, first), rank(1, 0, second), rank(1, 1, second)]);
  session.set({
    clusters: [first, second].map((path) => ({ path: `data/${path}`, notes: [], oddities: [] })),
  } as unknown as Session);
}

test("the address: captures stand by what they are, whichever was opened first", () => {
  openTwo("abc", "def");
  const hash = "#tab=pipeline&base.n=1&job.cluster=0&pp.under=beside:1&cmp.now=7&wi.layers=1";
  const kept = idsOf(hash);
  assert.doesNotMatch(kept, /(base\.n|cluster)=\d(&|$)|beside:\d/);
  assert.match(kept, /cmp\.now=7&wi\.layers=1/, "what is no capture, or of another kind, stays");
  assert.equal(keysOf(kept), hash);
  openTwo("def", "abc");
  assert.equal(
    keysOf(kept),
    "#tab=pipeline&base.n=0&job.cluster=1&pp.under=beside:0&cmp.now=7&wi.layers=1",
  );
  ranks.set([]);
  session.set(null);
});

test("the address: the panel below the timeline, its lanes, what is searched for", () => {
  Object.assign(globalThis, {
    sessionStorage: { getItem: () => null },
    fetch: () => Promise.resolve(new Response(JSON.stringify({ total: 0, ranks: [], names: [] }))),
  });
  viewport.setExtent(0, 1000);
  ranks.set([
    { key: "0123456789abcdef", rank: 0, state: "ready", origin_ns: "5", start: 0, end: 9 } as Rank,
  ]);
  assert.deepEqual(timelineState(), {}, "as at first");
  const said = {
    panel: "events",
    events: "0123456789abcdef,4,7",
    view: "kernels",
    of: "0123456789abcdef",
    q: "Mat,Mul %",
    how: "wr",
  };
  applyTimelineState(said);
  assert.equal(bottomTab.get(), "events" satisfies BottomTab);
  assert.deepEqual(shownEvents.get(), { rank: "0123456789abcdef", lanes: [4, 7] });
  assert.equal(systemView.get(), "kernels");
  assert.equal(systemRank.get(), "0123456789abcdef");
  assert.deepEqual(query.get(), {
    text: "Mat,Mul %",
    matchCase: false,
    word: true,
    regex: true,
    args: false,
  });
  assert.deepEqual(timelineState(), said);
  applyTimelineState({ box: "5+3" });
  assert.equal(bottomTab.get(), "list", "a box brings its list, as it does when it is drawn");
  assert.deepEqual(timelineState(), { box: "5+3" });
  applyTimelineState({});
  assert.deepEqual(timelineState(), {});
  ranks.set([]);
});

test("the address: the range of the grid of ranks", () => {
  const said = { least: "1.5", most: "8" };
  summary.write(said);
  assert.deepEqual(summary.read(), said);
  summary.write({});
});

test("saved views: of what is open; a file brings them elsewhere, and nothing twice", () => {
  openTwo("abc", "def");
  const captures = [...captureIds(ranks.get()).values()].map((id, i) => ({ id, name: `c${i}` }));
  const view = (address: string, of: number[]): SavedView => ({
    name: address,
    note: "",
    address: `#tab=${address}`,
    captures: of.map((i) => captures[i]),
    made: `2025-01-0${of.length}T00:00:00.000Z`,
  });
  const all = [view("timeline", [0, 1]), view("memory", [1])];
  addViews(all);
  assert.deepEqual(
    views.get().map((v) => v.name),
    ["timeline", "memory"],
  );
  addViews([{ ...all[1], note: "look" }]);
  assert.deepEqual(
    views.get().map((v) => v.note),
    ["", "look"],
    "the same view again",
  );
  const file = viewsFile(views.get());
  assert.deepEqual(parseViews(file), views.get());
  assert.equal(parseViews("{}"), null);
  assert.equal(parseViews("no json"), null);
  assert.deepEqual(
    parseViews(JSON.stringify({ pipescope_views: 1, views: [{ ...all[0], address: "//evil" }] })),
    [],
    "an address leads to this page only",
  );
  const open = new Set([captures[0].id]);
  assert.deepEqual(
    viewsOf(all, open).here.map((v) => v.name),
    ["timeline"],
  );
  assert.equal(viewsOf(all, open).others, 1);
  assert.deepEqual(lackedBy(all[0], open), [captures[1]]);
  ranks.set([]);
  session.set(null);
});
