/** A picture that is drawn with a pen: sized by its place, sharp on every screen, with hovering, and saved as PNG or SVG. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { useAtom } from "../base/atom";
import { context, FONT } from "../base/dom";
import { CanvasPen, cut, SvgPen, type Pen } from "../base/pen";
import type { ViewerTheme } from "../base/theme";
import { blobOf, offer, type ExportKind } from "../model/exports";
import { theme } from "../model/look";
import { tab } from "../model/session";
import { language } from "../words";

export interface Size {
  width: number;
  height: number;
}

/** What is under the pointer: a heading and lines of name and value. */
export interface Hit {
  title: string;
  lines: [name: string, value: string, colour?: string][];
  /** Of a click. */
  act?: (e: MouseEvent) => void;
  /** Same place, same key: the picture is drawn again when it changes. */
  key: string;
}

export interface DrawingProps {
  /** For the file, and for those who cannot see it. */
  title: string;
  /** Of a file: its name, the line below the picture that explains it where it travels alone, and what it shows where that is not all that is seen. */
  fileName?: string;
  caption?: string;
  drawSaved?: DrawingProps["draw"];
  height: number | "fill";
  /** Of a picture that is scrolled: what is saved is as high, where a sheet can be. */
  wholeHeight?: number;
  draw: (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null) => void;
  /** What of a picture of very many parts changes with the pointer: `draw` then is not called for it, and what it drew stays below. */
  drawOver?: (pen: Pen, size: Size, colours: ViewerTheme, hovered: Hit | null) => void;
  hit?: (x: number, y: number, size: Size) => Hit | null;
  onWheel?: (e: WheelEvent, x: number, y: number, size: Size) => void;
  onPointerDown?: (e: PointerEvent, x: number, y: number, size: Size) => void;
  onDblClick?: () => void;
  onKeyDown?: (e: KeyboardEvent, size: Size) => void;
  /** "crosshair", "grab" */
  cursor?: string;
  /** Changes when it is to be drawn anew. */
  deps: unknown[];
}

/** Browsers make no canvas of more than 32,767 pixels a side, and a sheet has two a unit of length. */
const HIGHEST_SHEET = 16_000;

const CAPTION_PX = 24;

/** The picture as a file has it: with nothing below the pointer, and its caption. */
function drawFile(p: DrawingProps, pen: Pen, at: Size): void {
  (p.drawSaved ?? p.draw)(pen, at, theme.get(), null);
  p.drawOver?.(pen, at, theme.get(), null);
  if (p.caption !== undefined) {
    const text = cut(pen, p.caption, at.width - 8);
    pen.text(4, at.height + CAPTION_PX / 2, text, { fill: theme.get().quiet });
  }
}

const measurer = (): ((text: string, size: number, weight: number) => number) => {
  const ctx = context(document.createElement("canvas"));
  return (text, size, weight) => {
    ctx.font = `${weight} ${size}px ${FONT}`;
    return ctx.measureText(text).width;
  };
};

export function Drawing(p: DrawingProps) {
  const colours = useAtom(theme);
  const lang = useAtom(language);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [over, setOver] = useState<{ hit: Hit; x: number; y: number } | null>(null);
  const latest = useRef(p);
  latest.current = p;

  useLayoutEffect(() => {
    const observer = new ResizeObserver(
      ([entry]) =>
        entry !== undefined &&
        setSize({ width: entry.contentRect.width, height: entry.contentRect.height }),
    );
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const below = useRef<HTMLCanvasElement | null>(null);
  useEffect(() => {
    below.current = null;
  }, [size, colours, lang, ...p.deps]);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (canvas.current === null || size.width <= 0 || size.height <= 0) {
        return;
      }
      const hovered = over?.hit ?? null;
      if (p.drawOver === undefined) {
        paint(canvas.current, size, devicePixelRatio, colours, (pen) =>
          p.draw(pen, size, colours, hovered),
        );
        return;
      }
      if (below.current === null) {
        below.current = document.createElement("canvas");
        // Drawn once and kept as pixels: a browser that draws on a graphics card would draw all of it anew in each frame.
        context(below.current, { willReadFrequently: true });
        paint(below.current, size, devicePixelRatio, colours, (pen) =>
          p.draw(pen, size, colours, null),
        );
      }
      paint(canvas.current, size, devicePixelRatio, colours, (pen, ctx) => {
        ctx.drawImage(below.current!, 0, 0, size.width, size.height);
        p.drawOver!(pen, size, colours, hovered);
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [size, colours, lang, over?.hit.key, ...p.deps]);

  const make = async (kind: ExportKind): Promise<Blob | string> => {
    const now = latest.current;
    const captionPx = now.caption === undefined ? 0 : CAPTION_PX;
    const inSight = { width: box.current!.clientWidth, height: box.current!.clientHeight };
    const whole = { ...inSight, height: now.wholeHeight ?? inSight.height };
    const at = kind === "png" && whole.height > HIGHEST_SHEET ? inSight : whole;
    if (kind === "svg") {
      const pen = new SvgPen(measurer());
      drawFile(now, pen, at);
      return pen.done(at.width, at.height + captionPx, theme.get().page, now.title);
    }
    const sheet = document.createElement("canvas");
    const size = { ...at, height: at.height + captionPx };
    paint(sheet, size, Math.max(2, devicePixelRatio), theme.get(), (pen) => {
      pen.rect(0, 0, size.width, size.height, theme.get().page);
      drawFile(now, pen, at);
    });
    return blobOf(sheet);
  };
  useEffect(
    () =>
      offer({
        tab: tab.get(),
        title: () => latest.current.title,
        fileName: () => latest.current.fileName ?? latest.current.title,
        kinds: ["png", "svg"],
        make,
        isOff: () => box.current?.offsetParent == null,
      }),
    [],
  );

  const place = (e: Pointed): [number, number] => {
    const at = canvas.current!.getBoundingClientRect();
    return [e.clientX - at.left, e.clientY - at.top];
  };
  const find = (e: Pointed): Hit | null => p.hit?.(...place(e), size) ?? null;
  const point = (e: Pointed): void => {
    const hit = find(e);
    setOver(hit === null ? null : { hit, x: e.clientX, y: e.clientY });
  };
  useMoves(canvas, over !== null, () => {
    if (over !== null) {
      point({ clientX: over.x, clientY: over.y });
    }
  });
  useEffect(() => {
    const element = canvas.current!;
    const wheel = (e: WheelEvent): void =>
      latest.current.onWheel?.(e, ...place(e), {
        width: element.clientWidth,
        height: element.clientHeight,
      });
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);

  return (
    <div
      class="drawing"
      ref={box}
      style={
        p.height === "fill" ? { flex: "1 1 0", minHeight: "120px" } : { height: `${p.height}px` }
      }
    >
      <canvas
        ref={canvas}
        role="img"
        aria-label={p.title}
        tabIndex={p.onKeyDown === undefined ? -1 : 0}
        style={{ cursor: over?.hit.act !== undefined ? "pointer" : (p.cursor ?? "default") }}
        onPointerMove={point}
        onPointerLeave={() => setOver(null)}
        onPointerDown={(e) => p.onPointerDown?.(e, ...place(e), size)}
        onClick={(e) => find(e)?.act?.(e)}
        onDblClick={() => p.onDblClick?.()}
        onKeyDown={(e) => p.onKeyDown?.(e, size)}
      />
      {over !== null && <Tip x={over.x} y={over.y} title={over.hit.title} lines={over.hit.lines} />}
    </div>
  );
}

type Pointed = Pick<MouseEvent, "clientX" | "clientY">;

/** While the pointer is over a picture: tells when the page moved the picture below it. */
function useMoves(canvas: { current: Element | null }, isOver: boolean, moved: () => void): void {
  const latest = useRef(moved);
  latest.current = moved;
  useEffect(() => {
    const at = (): string => {
      const { left, top } = canvas.current!.getBoundingClientRect();
      return `${left} ${top}`;
    };
    let [frame, before] = [0, isOver ? at() : ""];
    const look = (): void => {
      if (canvas.current === null) {
        return;
      }
      const now = at();
      if (now !== before) {
        before = now;
        latest.current();
      }
      frame = requestAnimationFrame(look);
    };
    if (isOver) {
      frame = requestAnimationFrame(look);
    }
    return () => cancelAnimationFrame(frame);
  }, [isOver]);
}

function paint(
  canvas: HTMLCanvasElement,
  size: Size,
  ratio: number,
  colours: ViewerTheme,
  draw: (pen: Pen, ctx: CanvasRenderingContext2D) => void,
): void {
  const [w, h] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = context(canvas);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, size.width, size.height);
  ctx.fillStyle = colours.page;
  draw(new CanvasPen(ctx), ctx);
}

/** Beside the pointer, inside the window. */
export function Tip({
  x,
  y,
  title,
  lines,
  children,
}: {
  x: number;
  y: number;
  title: string;
  lines?: Hit["lines"];
  children?: ComponentChildren;
}) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const node = ref.current!;
    const left = x + 14 + node.offsetWidth > innerWidth ? x - 10 - node.offsetWidth : x + 14;
    const top = y + 14 + node.offsetHeight > innerHeight ? y - 10 - node.offsetHeight : y + 14;
    node.style.left = `${Math.max(4, left)}px`;
    node.style.top = `${Math.max(4, top)}px`;
  });
  return (
    <div class="hover-tip" ref={ref} role="tooltip">
      <b>{title}</b>
      {lines !== undefined && lines.length > 0 && (
        <table>
          <tbody>
            {lines.map(([name, value, colour]) => (
              <tr>
                <th>
                  {colour !== undefined && <i class="key" style={{ background: colour }} />}
                  {name}
                </th>
                <td>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {children}
    </div>
  );
}

/** Names with their colours; a click takes a series out. */
export function Legend({
  series,
  off,
  toggle,
}: {
  series: { name: string; colour: string; isLine?: boolean }[];
  off: ReadonlySet<number>;
  toggle?: (i: number) => void;
}) {
  return (
    <ul class="chart-legend">
      {series.map((s, i) => (
        <li key={s.name}>
          <button
            type="button"
            class="flat"
            aria-pressed={!off.has(i)}
            disabled={toggle === undefined}
            onClick={() => toggle?.(i)}
          >
            <i
              class={s.isLine === true ? "key line" : "key"}
              style={{ background: s.colour, opacity: off.has(i) ? 0.25 : 1 }}
            />
            <span style={{ opacity: off.has(i) ? 0.5 : 1 }}>{s.name}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Which of a legend are off. */
export function useOff(): [ReadonlySet<number>, (i: number) => void] {
  const [off, setOff] = useState<ReadonlySet<number>>(new Set());
  return [
    off,
    (i) => {
      const next = new Set(off);
      if (!next.delete(i)) {
        next.add(i);
      }
      setOff(next);
    },
  ];
}

export const useColours = (): ViewerTheme => useAtom(theme);
