/** Whom a communication operator deals with beyond the ranks that are read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Collective, Flow, OwnEnd, Rank } from "../src/api/types";
import { isPartnerUnread, membersText, partnerOf, waitFor } from "../src/panels/peers_model";

const rank = (number: number, state: Rank["state"]): Rank =>
  ({ key: `k${number}`, rank: number, state, cluster: 0 }) as Rank;
const own: OwnEnd = { group: "pp", group_size: 4, sends: false, peer: 3 };
const reply = (end: OwnEnd | null, kinds: string[]): Parameters<typeof isPartnerUnread>[0] => ({
  flows: kinds.map((kind) => ({ kind }) as Flow),
  collective: null,
  own: end,
  more: false,
  left_out: 0,
});

void test("a receive whose sender is not read names it, and which rank is to be read", () => {
  assert.ok(isPartnerUnread(reply(own, ["async_npu"])));
  assert.ok(!isPartnerUnread(reply(own, ["send-recv"])));
  assert.ok(!isPartnerUnread(reply({ ...own, sends: null }, [])));
  assert.ok(!isPartnerUnread(reply(null, [])));
  assert.equal(partnerOf(own, [rank(2, "ready"), rank(3, "waiting")])?.key, "k3");
  assert.equal(partnerOf(own, [rank(2, "ready")]), null);
  assert.equal(partnerOf({ ...own, peer: null }, [rank(3, "ready")]), null);
});

void test("a receive says how long it waited for its send, a send nothing of the kind", () => {
  const [send, receive] = [
    { rank: "k2", slice: 5 },
    { rank: "k3", slice: 9 },
  ] as Flow["from"][];
  const flow = (waited_ns?: number): Flow =>
    ({ kind: "send-recv", from: send, to: receive, waited_ns }) as Flow;
  assert.equal(waitFor(receive, send, [flow(75.5e6)]), "waited for it 75.5 ms");
  assert.equal(waitFor(receive, send, [flow()]), "how long it waited is not known");
  assert.equal(waitFor(send, receive, [flow(75.5e6)]), undefined);
});

void test("a collective says of how many members those that were read are", () => {
  const met = (n: number, group_size: number | null): Collective =>
    ({ n, group_size }) as Collective;
  const read = [rank(0, "ready"), rank(1, "ready")];
  assert.equal(membersText(met(2, 8), read), "2 of 8 captured");
  assert.equal(membersText(met(2, 8), [...read, rank(2, "waiting")]), "2 of 8 read");
  assert.equal(membersText(met(8, 8), read), "8");
  assert.match(membersText(met(2, null), read), /2 read; how many there are is not recorded/);
});
