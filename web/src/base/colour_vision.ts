/** How far apart colours are for people who see fewer of them: CIE76 in Lab, under full protanopia, deuteranopia and tritanopia
 * by the matrices of Machado, Oliveira and Fernandes (2009) on linear RGB. The theme of the program is held to the same test. */
import { rgb } from "./theme";

export const VISIONS = ["normal", "protan", "deutan", "tritan"] as const;
export type Vision = (typeof VISIONS)[number];

/** Closer than this two colours are easily taken for one another. */
export const LEAST_DISTANCE = 20;

type Matrix = readonly [number, number, number, number, number, number, number, number, number];

const SEEN: Record<Vision, Matrix> = {
  normal: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protan: [
    0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
  ],
  deutan: [
    0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881,
  ],
  tritan: [
    1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039,
  ],
};

const linear = (v: number): number =>
  v / 255 <= 0.04045 ? v / 255 / 12.92 : Math.pow((v / 255 + 0.055) / 1.055, 2.4);
const clamp = (v: number): number => Math.max(0, Math.min(1, v));

function times(m: Matrix, [a, b, c]: readonly number[]): [number, number, number] {
  const row = (i: number): number => m[i] * a + m[i + 1] * b + m[i + 2] * c;
  return [row(0), row(3), row(6)];
}

function lab(hex: string, vision: Vision): [number, number, number] {
  const seen = times(SEEN[vision], rgb(hex).map(linear)).map(clamp);
  const [x, y, z] = times(
    [
      0.4124564, 0.3575761, 0.1804375, 0.2126729, 0.7151522, 0.072175, 0.0193339, 0.119192,
      0.9503041,
    ],
    seen,
  );
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [fx, fy, fz] = [f(x / 0.95047), f(y), f(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

export function distance(a: string, b: string, vision: Vision): number {
  const p = lab(a, vision);
  const q = lab(b, vision);
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

export interface Confusion {
  a: number;
  b: number;
  vision: Vision;
}

/** Pairs of a group that are too alike, each with the first vision that confuses them. */
export function confusions(colours: string[]): Confusion[] {
  const out: Confusion[] = [];
  for (let a = 0; a < colours.length; a++) {
    for (let b = a + 1; b < colours.length; b++) {
      const vision = VISIONS.find((v) => distance(colours[a], colours[b], v) < LEAST_DISTANCE);
      if (vision !== undefined) {
        out.push({ a, b, vision });
      }
    }
  }
  return out;
}
