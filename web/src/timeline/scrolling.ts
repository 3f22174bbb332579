/** How far the list of lanes is scrolled, and where it is to go once lanes are there. */
import { listScroll } from "../model/timeline";
import { tree } from "../model/tree";
import type { Parts } from "./parts";
import type { Region, Scene } from "./scene";

/** So long a row that was asked for stays in sight while rows around it are still finding their heights. */
const KEEP_MS = 1500;

export class Scrolling {
  private isAtScroll = -1;
  /** A row to scroll to when the tree is laid out; `until`: it was there, and stays in sight until then. */
  private pending: { id: string; row: number; until: number } | null = null;
  /** Where the list is to be scrolled to, once it is that long. */
  private wanted: number | null = listScroll.get() > 0 ? listScroll.get() : null;

  /** `moved`: rows and names lie elsewhere. */
  constructor(
    private readonly parts: Parts,
    private readonly scene: Scene,
    private readonly moved: () => void,
  ) {
    parts.scroller.addEventListener("scroll", () => this.scrolled());
  }

  /** The user scrolled: whatever was to come is forgotten. */
  private scrolled(): void {
    const { scrollTop } = this.parts.scroller;
    if (scrollTop !== this.isAtScroll) {
      this.isAtScroll = scrollTop;
      this.scene.scrollTop = scrollTop;
      this.scene.update();
      this.wanted = null;
      this.pending = null;
      listScroll.set(this.scene.scrollTop);
      this.moved();
    }
  }

  /** True when `listScroll` says something else than what is shown: lay the tree out. */
  takeWanted(): boolean {
    if (Math.abs(listScroll.get() - this.scene.scrollTop) <= 1) {
      return false;
    }
    this.wanted = listScroll.get();
    return true;
  }

  /** A row of an item of the tree, as soon as it is there. */
  want(id: string, row: number): void {
    this.pending = { id, row, until: Infinity };
  }

  /** The tree was laid out. */
  settle(): void {
    this.scrollToPending();
    this.parts.setSpace(this.scene.mostScroll);
    if (this.wanted !== null && this.wanted <= this.scene.mostScroll) {
      this.scene.scrollTop = this.wanted;
      this.wanted = null;
    }
    this.put(this.scene.scrollTop);
  }

  private scrollToPending(): void {
    const { pending } = this;
    const now = performance.now();
    if (pending !== null && now >= pending.until) {
      this.pending = null;
      return;
    }
    const item = pending === null ? undefined : tree.item(pending.id);
    if (pending === null || item === undefined) {
      return;
    }
    // Ranks above it whose lanes are on their way will push it down, and so do rows that a narrower window needs, and pipelines.
    const isMoving = tree.items.some(
      (i) =>
        i.kind === "rank" &&
        i.isOpen &&
        i.lanes === null &&
        i.rank?.state === "ready" &&
        i.y < item.y,
    );
    if (!isMoving && pending.until === Infinity) {
      pending.until = now + KEEP_MS;
    }
    this.scene.scrollTo(item, pending.row);
  }

  by(region: Region, px: number): void {
    if (region.isPins) {
      this.scene.pinsScroll += px;
    }
    this.set(this.scene.scrollTop + (region.isPins ? 0 : px));
  }

  /** Of the list, by the user: whatever was to come is forgotten. */
  set(top: number): void {
    this.pending = null;
    this.put(top);
  }

  private put(top: number): void {
    const { scene } = this;
    const { scroller } = this.parts;
    scene.scrollTop = top;
    scene.update();
    this.isAtScroll = Math.round(scene.scrollTop);
    if (Math.abs(scroller.scrollTop - scene.scrollTop) > 0.5) {
      scroller.scrollTop = scene.scrollTop;
      this.isAtScroll = scroller.scrollTop;
    }
    if (this.wanted === null) {
      listScroll.set(scene.scrollTop);
    }
    this.moved();
  }
}
