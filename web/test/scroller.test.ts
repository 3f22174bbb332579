/** Where a table is scrolled to, whoever scrolls it. */
import assert from "node:assert/strict";
import test from "node:test";
import { ROW_PX, Scroller } from "../src/panels/table_layout";

const VIEW_PX = 170;

/** Scrolls as a browser does: whole pixels, not beyond its ends, and an event later, one for all that was moved until then. */
class FakeElement {
  private at = 0;
  private told = 0;

  constructor(
    readonly scroller: Scroller,
    private readonly mostPx: () => number,
  ) {}

  get scrollTop(): number {
    return this.at;
  }

  set scrollTop(px: number) {
    this.at = Math.max(0, Math.min(Math.round(px), this.mostPx()));
  }

  tell(): void {
    if (this.at !== this.told) {
      this.told = this.at;
      this.scroller.scrolled(this);
    }
  }
}

function tableOf(rows: number) {
  const drawn = { at: 0 };
  const scroller: Scroller = new Scroller(() => (drawn.at = scroller.at));
  scroller.layout(rows * ROW_PX, VIEW_PX);
  const element = new FakeElement(scroller, () => scroller.spacePx - VIEW_PX);
  const user = (px: number): void => {
    element.scrollTop = px;
    element.tell();
  };
  return { scroller, element, drawn, user };
}

test("a table that the user scrolls is drawn where it stands, at its top, too", () => {
  const { element, drawn, user } = tableOf(1000);
  for (const px of [1, 0, 3000, 0, 2, 1, 0, 1e9, 0]) {
    user(px);
    assert.equal(drawn.at, element.scrollTop, `scrolled to ${px}`);
  }
});

test("nor does a row that was brought into sight keep the user from scrolling there", () => {
  const { scroller, element, drawn, user } = tableOf(1000);
  const reveal = (row: number): void => scroller.reveal(row * ROW_PX, (row + 1) * ROW_PX, element);
  reveal(500);
  reveal(100); // before the first of both was told
  element.tell();
  assert.equal(drawn.at, 100 * ROW_PX);
  user(5000);
  user(100 * ROW_PX + 1);
  assert.equal(drawn.at, 100 * ROW_PX + 1);
  reveal(999); // as far as it goes: further it cannot be told
  reveal(999);
  user(7000);
  user(999 * ROW_PX);
  assert.equal(drawn.at, element.scrollTop);
  scroller.toTop(element);
  user(700);
  user(0);
  assert.equal(drawn.at, 0);
  assert.equal(scroller.topOf(240), 240);
});

test("of more rows than an element may be high, those of its place are drawn in its sight", () => {
  const rows = 1_000_000;
  const { scroller, element, drawn, user } = tableOf(rows);
  const most = rows * ROW_PX - VIEW_PX;
  const isInSight = (): void => {
    const top = scroller.topOf(drawn.at);
    assert.ok(Math.abs(top - element.scrollTop) < 1e-6, `${top} of ${element.scrollTop}`);
  };
  user(4_000_000);
  assert.ok(Math.abs(drawn.at / most - 0.5) < 1e-4);
  isInSight();
  // The wheel moves row by row, which is less than a pixel of the element.
  const wheel = { deltaY: 10, deltaMode: 0, preventDefault: () => undefined } as WheelEvent;
  const before = drawn.at;
  for (let i = 1; i <= 3; i++) {
    scroller.wheel(wheel, element);
    element.tell();
    assert.equal(drawn.at, before + 10 * i);
    isInSight();
  }
  scroller.reveal(most + VIEW_PX - ROW_PX, most + VIEW_PX, element);
  element.tell();
  assert.equal(drawn.at, most);
  isInSight();
  user(0);
  assert.equal(drawn.at, 0);
  isInSight();
});
