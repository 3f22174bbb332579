/** What the server answers; docs/serve-api.md explains each. */
import type { Ns } from "../base/ns";
import type { ViewerTheme } from "../base/theme";
import type { Shapes, Shown } from "../pipeline/model";
import type { Packed } from "../pipeline/unpack";

/** A slice, as every route tells it. Times are from the rank's origin. */
export interface Ref {
  rank: string;
  slice: number;
  lane: number;
  row: number;
  start: Ns;
  dur: Ns;
  name: string;
  tint: number;
  kind: string;
}

/** Kinds of slices whose times are the device's (src/model/trace.h). */
export const RUNS_ON_DEVICE: ReadonlySet<string> = new Set([
  "device-mark",
  "communication",
  "job",
  "kernel",
  "communication-kernel",
  "copy",
  "communication-task",
  "synchronisation",
  "task",
]);

/** "closed": only in news, of a rank that is gone. */
export type RankState = "waiting" | "queued" | "reading" | "ready" | "failed" | "closed";

export interface Rank {
  key: string;
  /** The same wherever the capture lies. */
  id?: string;
  rank: number;
  label: string;
  host: string;
  format: string;
  profiler: string;
  file: string;
  /** Among the paths that are served, and what queries call it there. */
  cluster: number;
  profile: number;
  state: RankState;
  progress: number;
  error: string;
  /** The rest only when ready. */
  origin_ns?: string;
  start?: Ns;
  end?: Ns;
  slices?: number;
  steps?: [id: number, start: Ns, end: Ns][];
  devices?: number[];
  bytes?: Record<string, number>;
  /** Communication operators were made from marks, and have the times of the host or of the marks' stream. */
  comm_from_marks?: "host" | "stream";
  has?: string[];
  /** `part` and `id` say the same as `what` and `remedy`, for other languages. */
  missing?: { part: string; what: string; id: string; remedy: string }[];
  /** `id` says the kind, in any language. */
  oddities?: { id?: string; severity: string; text: string; n: number; places?: string[] }[];
}

export interface Session {
  version: string;
  title: string;
  theme: { light: ViewerTheme; dark: ViewerTheme };
  kinds: [string, string][];
  phases: string[];
  causes: string[];
  sources: string[];
  shapes: Shapes;
  clusters: { path: string; notes: string[]; oddities: string[]; closed?: true }[];
  /** The one that others are compared with, where the server was told. */
  baseline?: number;
  schedules: { name: string; summary: string }[];
}

export type LaneKind =
  | "group"
  | "host"
  | "python"
  | "marks"
  | "device"
  | "comm"
  | "plane"
  | "overlap"
  | "other"
  | "counter";

/** What is there so far of a rank that is being read. */
export interface OutlineReply {
  origin_ns: string;
  bucket_ns: Ns;
  slices: number;
  start: Ns;
  end: Ns;
  /** `busy`: a hexadecimal digit for each bucket. */
  lanes: { process: string; name: string; slices: number; busy: string }[];
}

export interface LaneNode {
  id: string;
  parent: number;
  name: string;
  kind: LaneKind;
  /** Of lanes of overlap: what all of it is (palette.ts). */
  look?: number;
  lane: number;
  rows: number;
  slices: number;
  device: number;
  unit: string;
  start: Ns;
  end: Ns;
  /** Of counters: all values are the same. */
  idle?: true;
  /** Worked out by the program: the profile has no such lane. */
  derived?: true;
}

export interface Link {
  kind: string;
  direction: "from" | "to";
  ref: Ref;
}

export interface Slice extends Ref {
  track: string;
  process: string;
  category: string;
  /** Tables of communication list it. */
  communication?: true;
  origin_ns: string;
  end: Ns;
  self_ns: Ns | null;
  step: number | null;
  args: [string, unknown][];
  stack: string[];
  links: Link[];
  links_left_out: number;
  parents: Ref[];
  children: { n: number; first: Ref[] };
  source: string;
}

export interface Flow {
  kind: string;
  from: Ref;
  to: Ref;
  /** Across ranks: how long the one that it leads to waited. */
  waited_ns?: number;
}

/** A collective, as all ranks that took part saw it. */
export interface Collective {
  group: string;
  name: string;
  /** Ranks that were read. */
  n: number;
  /** Ranks of the communicator, read or not; null: not known. */
  group_size: number | null;
  /** The last start after the first one, and after the one before it. */
  spread_ns: number;
  late_ns: number;
  waited_ns: number;
  last: Ref | null;
}

/** What a rank itself says of whom it communicates with. */
export interface OwnEnd {
  group: string;
  group_size: number | null;
  /** null: no send and no receive. */
  sends: boolean | null;
  /** The rank at the other end; null: not known. */
  peer: number | null;
}

export interface FlowsOf {
  flows: Flow[];
  collective: Collective | null;
  own: OwnEnd | null;
  more: boolean;
  left_out: number;
}

/** [from slice, to slice, from lane, from row, from ns, to lane, to row, to ns, key of the rank that it comes from where that
 * is another one] */
export type FlowRow = [number, number, number, number, Ns, number, number, Ns, string?];

export type Cell = string | number | null;
export type ColumnType = "int" | "real" | "text";

export interface Table {
  name: string;
  title: string;
  /** `of`: numbers of slices of the row's rank. */
  columns: [name: string, type: ColumnType, unit: string, exact: boolean, of?: "slice"][];
  total: number;
  offset: number;
  rows: Cell[][];
  notes?: string[];
}

/** The rows of a query: those that are kept, and how many there are. */
export interface QueryTable extends Table {
  n_rows: number;
  elapsed_ns: number;
}

export interface SchemaTable {
  name: string;
  text: string;
  set: "traces" | "modes" | "views" | "job views";
  example: string;
  columns: [name: string, type: string, unit: string, text: string][];
}

export interface Schema {
  tables: SchemaTable[];
  functions: [call: string, text: string][];
  words: string[];
}

export interface ViewInfo {
  name: string;
  title: string;
  tab: string;
  of: "rank" | "cluster";
  params: string[];
}

export interface SearchCounts {
  total: number;
  ranks: { rank: string; total: number; lanes: [lane: number, n: number][] }[];
  names: [text: string, tint: number, n: number][];
}

/** A table of the pipeline page: all its rows. */
export type ChartTable = Pick<Table, "name" | "title" | "columns" | "rows">;

export interface ChartReply {
  chart: Packed;
  against: Packed | null;
  tables: ChartTable[];
  view: Shown;
  /** For each row of chart.ranks the rank of the timeline ("" none), and its clock - that of the chart. */
  places: [key: string, clockNs: Ns][];
}

export interface SimulateFrom {
  cluster: number;
  step?: number;
  pipeline?: number;
  [override: string]: string | number | boolean | undefined;
}

export interface SimulateAsk {
  schedule?: string;
  stages?: number;
  microbatches?: number;
  chunks?: number;
  group?: number;
  overlap?: boolean;
  tail?: "split" | "full";
  csv?: string;
  from?: SimulateFrom;
  balanced?: boolean;
  f_ns?: Ns;
  b_ns?: Ns;
  w_ns?: Ns;
  fb_ns?: Ns;
  p2p_ns?: Ns;
  durations?: string;
  factors?: number[];
  format?: "svg";
  dark?: boolean;
}

export interface SimulateReply {
  step_ns: Ns;
  /** The schedule that ran with the same medians; only with `from`. */
  replayed_ns?: Ns;
  replayed_bubble?: number;
  bubble: number;
  activations: number;
  chart: Packed;
  tables: ChartTable[];
  view: Shown;
  used: {
    schedule: string;
    stages: number;
    microbatches: number;
    chunks: number;
    /** Ops that the work of a stage for one microbatch is cut into. */
    pieces: number;
    p2p_ns: Ns;
    splits: boolean;
    pairs: boolean;
    times: [f: Ns, b: Ns, w: Ns, fb: Ns][];
    /** Means over the stages before durations of the form count. */
    measured: [f: Ns, b: Ns, w: Ns, fb: Ns];
    measured_p2p_ns: Ns;
  };
}
