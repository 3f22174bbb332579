/** Characters as coverage masks, drawn by the browser once each. */
import { context, FONT } from "../base/dom";
import type { Glyph, Glyphs } from "./raster";

export class CanvasGlyphs implements Glyphs {
  readonly height: number;
  private readonly known = new Map<string, Glyph>();
  private readonly ctx: CanvasRenderingContext2D;

  /** `size` in device pixels. */
  constructor(private readonly size: number) {
    this.height = Math.ceil(size * 1.2);
    const canvas = document.createElement("canvas");
    canvas.width = this.height * 3;
    canvas.height = this.height;
    this.ctx = context(canvas, { willReadFrequently: true });
    this.ctx.font = `500 ${size}px ${FONT}`;
    this.ctx.textBaseline = "middle";
    this.ctx.fillStyle = "#fff";
  }

  get(char: string): Glyph {
    let glyph = this.known.get(char);
    if (glyph === undefined) {
      glyph = this.draw(char);
      this.known.set(char, glyph);
    }
    return glyph;
  }

  private draw(char: string): Glyph {
    // All digits are as wide as the widest, so that numbers stand under one another.
    const measured = /\d/.test(char) ? "0" : char;
    const advance = Math.max(1, Math.round(this.ctx.measureText(measured).width));
    const width = Math.min(advance + 1, this.height * 3);
    this.ctx.clearRect(0, 0, this.ctx.canvas.width, this.height);
    this.ctx.fillText(char, 0, Math.round(this.height / 2) + this.size * 0.04);
    const image = this.ctx.getImageData(0, 0, width, this.height).data;
    const mask = new Uint8Array(width * this.height);
    for (let i = 0; i < mask.length; i++) {
      mask[i] = image[i * 4 + 3]!;
    }
    return { advance, width, mask };
  }
}
