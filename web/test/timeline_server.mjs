// A server with a recording that is computed when asked for: as many ranks, lanes and slices as a test wants, without the
// program. It serves web/dist, and what of /api/ the timeline draws from (docs/serve-api.md).
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css" };
const TILE = 1024;

const THEME = {
  page: "#ffffff",
  panel: "#f6f7f9",
  line: "#e3e7eb",
  ink: "#14181d",
  quiet: "#5c6670",
  hatch: "#cbd2d9",
  accent: "#2f6bd0",
  kinds: [
    "#195283",
    "#25b379",
    "#b7e0d7",
    "#e1da38",
    "#a33bce",
    "#7b4e25",
    "#8a2c4b",
    "#df8c3d",
    "#8c94a7",
  ],
  phases: ["#e4572e", "#8fc6f5", "#f3e4a1", "#629f70", "#f0a92b", "#8f70c8", "#c2ccd3"],
  lanes: ["#2f6bd0", "#f2994a", "#c2303f", "#dde2e8"],
  tints: [
    "#5b8db8",
    "#c98b6b",
    "#6fa287",
    "#a58cb8",
    "#b8a45c",
    "#6b9ca3",
    "#b8788c",
    "#7f8fbf",
    "#8fa35f",
    "#b0805f",
    "#5fa0b0",
    "#9a8f86",
  ],
};

/** Lane l has slices every `period` ns, each `dur` long; deeper rows are shorter. */
const periodOf = (lane, row) => (700 + ((lane * 37 + row * 11) % 23) * 60) >> Math.min(row, 3);

function tile(spanNs, level, t, lanes, rowsOf) {
  const bucket = 2 ** level;
  const from = t * TILE * bucket;
  const to = Math.min(spanNs, from + TILE * bucket);
  const parts = [];
  const heads = [];
  let n = 0;
  for (const lane of lanes) {
    const before = n;
    for (let row = 0; row < rowsOf(lane); row++) {
      const period = periodOf(lane, row);
      const each = Math.max(1, Math.ceil(bucket / period));
      for (
        let k = Math.max(0, Math.floor(from / period / each) * each);
        k * period < to;
        k += each
      ) {
        const start = k * period;
        const end = Math.min(spanNs, start + (each - 1) * period + period * 0.72);
        parts.push([
          (start - from) / bucket,
          (end - from) / bucket,
          lane * 1e6 + k,
          (k % 97) + row,
          each,
          row,
          (k + row) % 12,
          each > 1 ? 184 : 255,
        ]);
        n++;
      }
    }
    heads.push([lane, n - before]);
  }
  const out = Buffer.alloc(16 + heads.length * 8 + n * 24);
  out.writeUInt32LE(0x31545350, 0);
  out.writeUInt32LE(heads.length, 4);
  out.writeUInt32LE(n, 8);
  heads.forEach(([lane, entries], i) => {
    out.writeUInt32LE(lane, 16 + i * 8);
    out.writeUInt32LE(entries, 20 + i * 8);
  });
  const base = 16 + heads.length * 8;
  parts.forEach(([start, end, slice, name, count, row, look, busy], i) => {
    out.writeFloatLE(start, base + i * 4);
    out.writeFloatLE(end, base + n * 4 + i * 4);
    out.writeUInt32LE(slice >>> 0, base + n * 8 + i * 4);
    out.writeUInt32LE(name, base + n * 12 + i * 4);
    out.writeUInt32LE(count, base + n * 16 + i * 4);
    out.writeUInt16LE(row, base + n * 20 + i * 2);
    out.writeUInt8(look, base + n * 22 + i);
    out.writeUInt8(busy, base + n * 23 + i);
  });
  return out;
}

const listOf = (text) =>
  text.split(",").flatMap((part) => {
    const [a, b] = part.split("-").map(Number);
    return Array.from({ length: (b ?? a) - a + 1 }, (_, i) => a + i);
  });

/** What is there so far of a rank that is being read: half of the recording. */
const outlineOf = (spanNs) => ({
  origin_ns: "1700000000000000000",
  bucket_ns: spanNs / 1024,
  slices: 65536,
  start: 0,
  end: spanNs / 2,
  lanes: [
    { process: "python 1", name: "Thread 1", slices: 9, busy: "f".repeat(256) + "0".repeat(256) },
    { process: "python 1", name: "Thread 2", slices: 9, busy: "0".repeat(256) + "f".repeat(256) },
  ],
});

/** Starts on a free port of 127.0.0.1; returns its address, how to stop it, and how the first rank comes to be read where `isReading`. */
export async function serveSynthetic({
  nRanks = 1,
  nLanes = 60,
  rows = 1,
  spanNs = 1e8,
  isReading = false,
} = {}) {
  let readFirst = () => undefined;
  const isRead = new Promise((done) => (readFirst = done));
  const ranks = Array.from({ length: nRanks }, (_, i) => ({
    key: `k${i}`,
    rank: i,
    label: `rank ${i}`,
    host: "",
    format: "synthetic",
    profiler: "",
    file: "",
    state: "ready",
    progress: 1,
    error: "",
    origin_ns: "1700000000000000000",
    start: 0,
    end: spanNs,
    slices: nLanes * 1000,
    steps: [
      [1, 0, spanNs / 2],
      [2, spanNs / 2, spanNs],
    ],
    devices: [0],
    bytes: {},
    has: ["flows"],
    missing: [],
    oddities: [],
  }));
  const nodes = [
    {
      id: "device/0",
      parent: -1,
      name: "Ascend Hardware",
      kind: "group",
      lane: -1,
      rows: 0,
      slices: 0,
      device: 0,
      unit: "",
      start: 0,
      end: spanNs,
    },
  ];
  for (let lane = 0; lane < nLanes; lane++) {
    nodes.push({
      id: `device/0/stream/${lane}`,
      parent: 0,
      name: `Stream ${lane}`,
      kind: "device",
      lane,
      rows,
      slices: 1000,
      device: 0,
      unit: "",
      start: 0,
      end: spanNs,
    });
  }
  const refOf = (slice) => {
    const lane = Math.floor(slice / 1e6);
    const k = slice % 1e6;
    return {
      rank: "k0",
      slice,
      lane,
      row: 0,
      start: k * periodOf(lane, 0),
      dur: Math.round(periodOf(lane, 0) * 0.72),
      name: `kernel_${k % 97}`,
      tint: k % 12,
      kind: "kernel",
    };
  };
  if (isReading) {
    const [{ key, rank, label, host, format, profiler, file, error }] = ranks;
    const whole = ranks[0];
    ranks[0] = {
      key,
      rank,
      label,
      host,
      format,
      profiler,
      file,
      error,
      state: "reading",
      progress: 0.5,
    };
    void isRead.then(() => (ranks[0] = whole));
  }
  const answer = (path, q, body) => {
    switch (path) {
      case "session":
        return {
          version: "",
          title: "synthetic",
          theme: {
            light: THEME,
            dark: { ...THEME, page: "#14181d", panel: "#1c2127", ink: "#e8ebee", line: "#2b323a" },
          },
          kinds: [],
          phases: [],
          causes: [],
          sources: [],
          clusters: [],
          schedules: [],
        };
      case "ranks":
        return { seq: 1, origin_ns: "1700000000000000000", ranks };
      case "lanes":
        return { nodes };
      case "outline":
        return outlineOf(spanNs);
      case "tiles":
        return tile(
          spanNs,
          Number(q.get("level")),
          Number(q.get("tile")),
          listOf(q.get("lanes")),
          () => rows,
        );
      case "coverage":
        return Buffer.alloc(TILE, 120);
      case "names":
        return { names: JSON.parse(body).names.map((n) => [`kernel_${n}`, n % 12]) };
      case "slice": {
        const ref = refOf(Number(q.get("slice")));
        return {
          ...ref,
          track: "",
          process: "",
          category: "",
          origin_ns: "1700000000000000000",
          end: ref.start + ref.dur,
          self_ns: null,
          step: 1,
          args: [],
          stack: [],
          links: [],
          parents: [],
          children: { n: 0, first: [] },
          source: "",
        };
      }
      case "near": {
        const slice = Number(q.get("slice"));
        return {
          ref:
            q.get("to") === "next"
              ? refOf(slice + 1)
              : q.get("to") === "previous"
                ? refOf(slice - 1)
                : null,
        };
      }
      case "flows/of":
        return {
          flows: [
            {
              kind: "async_npu",
              from: refOf(Number(q.get("slice"))),
              to: refOf(Number(q.get("slice")) + 2e6 + 3),
            },
          ],
        };
      case "flows/kinds":
        return { kinds: [["async_npu", 10]] };
      case "flows/window":
        return { total: 0, flows: [] };
      case "views":
        return { views: [] };
      default:
        return null;
    }
  };
  const server = createServer((request, reply) => {
    const url = new URL(request.url, "http://127.0.0.1");
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", async () => {
      if (url.pathname === "/api/events") {
        const news =
          isReading && url.searchParams.get("after") === "1"
            ? isRead
            : new Promise(() => undefined);
        const late = new Promise((done) => setTimeout(done, 5000, { seq: 1, ranks: [] }).unref());
        void Promise.race([news.then(() => ({ seq: 2, ranks })), late]).then((told) =>
          reply.end(JSON.stringify(told)),
        );
        return;
      }
      if (url.pathname.startsWith("/api/")) {
        const found = answer(
          url.pathname.slice(5),
          url.searchParams,
          Buffer.concat(chunks).toString(),
        );
        reply.statusCode = found === null ? 404 : 200;
        reply.end(
          found === null
            ? '{"error":"not here"}'
            : Buffer.isBuffer(found)
              ? found
              : JSON.stringify(found),
        );
        return;
      }
      const name =
        url.pathname === "/" ? "index.html" : url.pathname.slice(1).replace(/[^a-z.]/g, "");
      try {
        reply.setHeader("Content-Type", TYPES[name.split(".").pop()] ?? "text/plain");
        reply.end(await readFile(join(dist, name)));
      } catch {
        reply.statusCode = 404;
        reply.end();
      }
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/#token=test`,
    readFirst,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
