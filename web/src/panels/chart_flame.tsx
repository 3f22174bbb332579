/** A flame graph: each box is as wide as its time, and what it called lies below it. A click chooses a box, another one makes it as wide as
 * the picture, Esc and Backspace go back up; arrows go from box to box. */
import { useMemo } from "preact/hooks";
import { grouped } from "../base/format";
import { cut, type Pen } from "../base/pen";
import { textOn, type ViewerTheme } from "../base/theme";
import { duration, exact, percent } from "../base/time";
import { flameOf, stepFrom, type CallNode, type FlameBox, type Time } from "../model/flame";
import { sliceWord, t, type Word } from "../words";
import { Drawing, type Hit, type Size } from "./drawing";

export const FLAME_ROW = 20;
/** Boxes narrower than this have no name. */
const NAMED_PX = 24;
const STEP_BACK = 0.4;
const ABOVE = 0.55;

export interface FlameProps {
  title: string;
  /** Capture, rank, step, direction. */
  of: string[];
  nodes: readonly CallNode[];
  time: Time;
  /** The node that is as wide as the picture. */
  focus: number;
  chosen: number;
  found: ReadonlySet<number>;
  onChoose: (node: number) => void;
  onFocus: (node: number) => void;
}

/** Names that the program made are said in the language of the page. */
export function callName(node: CallNode): string {
  switch (node.kind) {
    case "all":
      return t("calls.all");
    case "step":
      return t("calls.step");
    case "pass":
      return t(`calls.pass-${node.name}` as Word);
    case "unknown":
      return t(node.name.includes("module") ? "calls.no-module" : "calls.no-launch");
    case "others":
      return t("calls.others", node.n);
    default:
      return sliceWord(node.name);
  }
}

/** By what a box is: kernels and communication as everywhere, the rest by kind. */
function colourOf(kind: string, colours: ViewerTheme): string {
  const tint = (i: number): string => colours.tints[i % colours.tints.length] ?? colours.hatch;
  switch (kind) {
    case "kernel":
    case "job":
      return colours.lanes[0] ?? colours.accent;
    case "communication":
    case "communication-kernel":
      return colours.lanes[1] ?? colours.accent;
    case "op":
      return tint(2);
    case "call":
      return tint(1);
    case "python":
      return tint(4);
    case "module":
      return tint(7);
    case "mark":
    case "annotation":
    case "step":
    case "pass":
      return tint(3);
    case "copy":
    case "task":
      return tint(9);
    default:
      return colours.hatch;
  }
}

export function FlameGraph(p: FlameProps) {
  const { nodes, time, focus, chosen, found } = p;
  const layouts = useMemo(() => new Map<number, FlameBox[]>(), [nodes, time, focus]);
  const boxesOn = (width: number): FlameBox[] => {
    const whole = Math.max(1, Math.floor(width));
    const known = layouts.get(whole) ?? flameOf(nodes, focus, time, whole);
    layouts.set(whole, known);
    return known;
  };
  const rows = useMemo(
    () => 1 + flameOf(nodes, focus, time, 2000).reduce((most, b) => Math.max(most, b.row), 0),
    [nodes, time, focus],
  );
  const draw = (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null): void => {
    for (const box of boxesOn(size.width)) {
      drawBox(p, pen, colours, box);
      if (hovered?.key === keyOf(box) || (box.node === chosen && !box.isThin)) {
        const width = box.node === chosen ? 2 : 1;
        pen.frame(box.x, box.row * FLAME_ROW, widthOf(box), FLAME_ROW - 1, colours.ink, width);
      }
    }
  };
  const drawSaved = (pen: Pen, size: Size, colours: ViewerTheme): void => {
    for (const box of boxesOn(size.width)) {
      pen.titled(
        () => titleOf(p, box),
        () => drawBox(p, pen, colours, box),
      );
    }
  };
  const top = nodes[focus] ?? nodes[0];
  const scale = t("calls.scale", callName(top), t(`calls.time-${time}`), duration(top.total[time]));
  const hit = (x: number, y: number, size: Size): Hit | null => {
    const row = Math.floor(y / FLAME_ROW);
    const box = boxesOn(size.width).find((b) => b.row === row && x >= b.x && x < b.x + b.width);
    return box === undefined ? null : hitOf(p, box);
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    const node = keyed(p, e.key);
    if (node === null) {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
    if (node.focus !== undefined) {
      p.onFocus(node.focus);
    }
    if (node.chosen !== undefined) {
      p.onChoose(node.chosen);
    }
  };
  return (
    <Drawing
      title={p.title}
      fileName={[t("calls.file"), ...p.of].join(" ")}
      caption={[...p.of, scale].join(" · ")}
      height={rows * FLAME_ROW}
      draw={draw}
      drawSaved={drawSaved}
      hit={hit}
      onKeyDown={onKeyDown}
      deps={[nodes, time, focus, chosen, found]}
    />
  );
}

const keyOf = (box: FlameBox): string => `${box.node} ${box.n}`;

/** What a key does; null: it is none of these. */
function keyed(p: FlameProps, key: string): { chosen?: number; focus?: number } | null {
  const { nodes, focus, chosen } = p;
  switch (key) {
    case "Enter":
      return { focus: chosen };
    case "Escape":
      return { focus: 0 };
    case "Backspace":
      return { focus: Math.max(0, nodes[focus]?.parent ?? 0) };
    case "Home":
      return { chosen: 0, focus: 0 };
    case "ArrowUp":
    case "ArrowDown":
    case "ArrowLeft":
    case "ArrowRight": {
      const to = stepFrom(nodes, chosen, key, p.time);
      // What is chosen stays in sight.
      return isBelow(nodes, to, focus) ? { chosen: to } : { chosen: to, focus: to };
    }
    default:
      return null;
  }
}

function isBelow(nodes: readonly CallNode[], node: number, above: number): boolean {
  for (let at = node; at >= 0; at = nodes[at].parent) {
    if (at === above) {
      return true;
    }
  }
  return false;
}

const widthOf = (box: FlameBox): number => Math.max(0.5, box.width - (box.width > 3 ? 1 : 0));

function drawBox(p: FlameProps, pen: Pen, colours: ViewerTheme, box: FlameBox): void {
  const node = p.nodes[box.node];
  const [y, h, w] = [box.row * FLAME_ROW, FLAME_ROW - 1, widthOf(box)];
  const { isThin } = box;
  const colour = isThin ? colours.hatch : colourOf(node.kind, colours);
  const isOff = p.found.size > 0 && !p.found.has(box.node);
  const alpha = isOff ? STEP_BACK : box.isAbove ? ABOVE : 1;
  pen.rect(box.x, y, w, h, colour, alpha);
  if (!isThin && box.width >= NAMED_PX) {
    const text = cut(pen, callName(node), w - 8);
    const ink = alpha < 1 ? colours.ink : textOn(colour);
    pen.text(box.x + 4, y + h / 2, text, { fill: ink });
  }
}

/** All of the name and its figures, a line each. */
function titleOf(p: FlameProps, box: FlameBox): string {
  const { title, lines } = hitOf(p, box);
  return [title, ...lines.map(([name, value]) => `${name} ${value}`.trim())].join("\n");
}

function hitOf(p: FlameProps, box: FlameBox): Hit {
  const node = p.nodes[box.node];
  const of = (ns: number, whole: number): string =>
    whole > 0 ? `${duration(ns)}  ${percent(ns / whole)} %` : duration(ns);
  if (box.isThin) {
    return { key: keyOf(box), title: t("calls.thin", box.n), lines: [] };
  }
  const whole = p.nodes[0].total;
  const lines: Hit["lines"] = [];
  for (const time of ["device", "host"] as const) {
    if (whole[time] > 0) {
      lines.push([t(`calls.total-${time}`), of(node.total[time], whole[time])]);
      if (node.self !== null) {
        lines.push([t(`calls.self-${time}`), of(node.self[time], whole[time])]);
      }
    }
  }
  lines.push(["", exact(node.total[p.time])]);
  if (node.n > 0) {
    lines.push([t("calls.number"), grouped(String(node.n))]);
  }
  return {
    key: keyOf(box),
    title: callName(node),
    lines,
    act: () => (p.chosen === box.node ? p.onFocus(box.node) : p.onChoose(box.node)),
  };
}
