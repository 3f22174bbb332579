/** Every text of a chart, and of the page that stands alone, in both languages. `{0}` is filled in by fill(). */
import type { Shown } from "./model";

export const ENGLISH = {
  stage: "stage",
  rank: "rank",
  pipeline: "pipeline {0}",
  longestOf: ", the longest of {0}",
  step: "step",
  microbatch: "microbatch",
  phase: "phase",
  start: "start",
  duration: "duration",
  deviceStart: "device start",
  deviceDuration: "device duration",
  hostStart: "host start",
  hostDuration: "host duration",
  labelFrom: "label from",
  unknown: "unknown",
  ofChunk: "{0} of chunk {1}",
  pairOf: "{0} forward, {1} backward",
  halves: "its halves",
  halvesUnknown: "marked as one op: when each of them ran is not known",
  litOne: "{0} is lit",
  startsEarlier: "starts {0} earlier",
  startsLater: "starts {0} later",
  startsSame: "starts at the same time",
  takesLonger: "takes {0} longer",
  takesLess: "takes {0} less",
  takesSame: "takes as long",
  bothOf: "{0}, {1}",
  theory: "theory",
  measured: "measured",
  waiting: "waiting, {0}",
  waitsFor: "waits for",
  onPath: "critical path",
  pathOf: "critical path of pipeline {0}",
  shareOfPath: "{0} % of it",
  waitedBefore: "waited before",
  afterOp: "after {0}",
  opOnStage: "{0} on stage {1}",
  noOps: "no ops",
  notMeasured: "not measured",
  fromStart: "from the step’s first op",
  busy: "busy %",
  legend: "legend",
  legendWaiting: "waiting: {0}",
  otherWork: "other work",
  otherWorkHint: "in no op, and no bubble",
  legendOther: "other work, in no op",
  overlapped: "overlapped {0} % of busy",
  bubbleUnmarked: "bubble {0} % ({1} % may be ops without marks)",
  legendPair: "measured, and below it theory",
  busyTime: "busy",
  shareOfStep: "share of the step",
  bubbleShare: "bubble %",
  chart: "pipeline chart",
  partForward: "forward",
  partBackward: "backward",
  partCommunication: "communication",
};

/** The same in Chinese. */
export const CHINESE: Texts = {
  stage: "阶段",
  rank: "rank",
  pipeline: "流水线 {0}",
  longestOf: "（{0} 条流水线中最长的一条）",
  step: "step",
  microbatch: "microbatch",
  phase: "阶段类型",
  start: "开始",
  duration: "时长",
  deviceStart: "device 开始",
  deviceDuration: "device 时长",
  hostStart: "host 开始",
  hostDuration: "host 时长",
  labelFrom: "标签来源",
  unknown: "未知",
  ofChunk: "{0}（chunk {1}）",
  pairOf: "前向 {0}，反向 {1}",
  halves: "前向与反向",
  halvesUnknown: "标记为一个算子：各自的运行时间未知",
  litOne: "高亮 {0}",
  startsEarlier: "早 {0} 开始",
  startsLater: "晚 {0} 开始",
  startsSame: "同时开始",
  takesLonger: "时长多 {0}",
  takesLess: "时长少 {0}",
  takesSame: "时长相同",
  bothOf: "{0}，{1}",
  theory: "理论",
  measured: "实测",
  waiting: "等待，{0}",
  waitsFor: "等待",
  onPath: "关键路径",
  pathOf: "流水线 {0} 的关键路径",
  shareOfPath: "占路径 {0} %",
  waitedBefore: "此前等待",
  afterOp: "在{0}之后",
  opOnStage: "阶段 {1} 的 {0}",
  noOps: "无算子",
  notMeasured: "未采集",
  fromStart: "距 step 首个算子",
  busy: "忙 %",
  legend: "图例",
  legendWaiting: "等待：{0}",
  otherWork: "其他工作",
  otherWorkHint: "不属于任何算子，也不是空泡",
  legendOther: "其他工作，不属于任何算子",
  overlapped: "前向与反向重叠，占忙时间 {0} %",
  bubbleUnmarked: "空泡 {0} %（其中 {1} % 可能是没有标记的算子）",
  legendPair: "上为实测，下为理论",
  busyTime: "忙",
  shareOfStep: "占 step 的比例",
  bubbleShare: "空泡 %",
  chart: "流水线图",
  partForward: "前向",
  partBackward: "反向",
  partCommunication: "通信",
};

/** Those of a page that stands alone and has many ranks. */
const MANY = {
  heading: "pipeline {0}, for {1} that are alike: {2}",
  choice: "{0}, for {1}",
  facts: "{0} ranks in {1} pipelines; those within {2} % stand as one (docs/alike-rows.md)",
  leftOut: "{0} pipelines have no row here",
  shownAs: "shown as pipeline",
  none: "none",
  slowStage:
    "Stage {0} works longest in most pipelines: {1}, {2} % more than the middle stage ({3}).",
  noSlowStage: "No stage works 10 % longer than the middle one in most pipelines.",
  slowSingle: "Stage {0} of pipeline {1} works {2} % longer than that stage in the others.",
  slowMore: "{0} more are 10 % slower than theirs.",
};

const MANY_CHINESE: typeof MANY = {
  heading: "流水线 {0}，代表相近的 {1} 条：{2}",
  choice: "{0}，代表 {1} 条",
  facts: "{0} 个 rank，{1} 条流水线；相差 {2} % 以内的合并显示（docs/alike-rows.md）",
  leftOut: "另有 {0} 条流水线未在此显示",
  shownAs: "显示为流水线",
  none: "无",
  slowStage: "在多数流水线中阶段 {0} 工作最久：{1}，比居中的阶段（{3}）多 {2} %。",
  noSlowStage: "多数流水线中没有阶段比居中的阶段多工作 10 %。",
  slowSingle: "流水线 {1} 的阶段 {0} 比其他流水线的同一阶段多工作 {2} %。",
  slowMore: "另有 {0} 个比同类慢 10 %。",
};

/** Of the page around the chart. */
const PAGE = {
  step: "step",
  pipeline: "pipeline",
  all: "all",
  phase: "phase",
  kind: "kind",
  colour: "colour",
  colourBy: "colour by ",
  arrows: " arrows",
  arrowsTitle: "show all links, not only those of the microbatch under the pointer",
  zoomOut: "zoom out (-)",
  zoomIn: "zoom in (+)",
  fit: "fit",
  fitTitle: "show everything (0)",
  themeTitle: "light or dark (t)",
  light: "light",
  dark: "dark",
  allSteps: "all {0} steps",
  oneStep: "step {0}",
  allPipelines: "all pipelines that are alike as one",
  untold: "bubble not told",
  bubble: "bubble {0} %",
  theoryBubble: "theory ({0}): bubble {1} %",
  stages: "Stages",
  hint: "Drag to pan, Ctrl + wheel or double-click to zoom; arrow keys, + \u2212 0; [ ] step; t theme. Click a block to keep its microbatch lit; Tab to the chart: arrows choose one.",
};

const PAGE_CHINESE: typeof PAGE = {
  step: "step",
  pipeline: "流水线",
  all: "全部",
  phase: "阶段类型",
  kind: "类型",
  colour: "着色",
  colourBy: "着色 ",
  arrows: " 连线",
  arrowsTitle: "显示全部连线，而不只是指针所在 microbatch 的连线",
  zoomOut: "缩小 (-)",
  zoomIn: "放大 (+)",
  fit: "全部",
  fitTitle: "显示全部 (0)",
  themeTitle: "浅色 / 深色 (t)",
  light: "浅色",
  dark: "深色",
  allSteps: "全部 {0} 个 step",
  oneStep: "step {0}",
  allPipelines: "相近的流水线合并显示",
  untold: "空泡未知",
  bubble: "空泡 {0} %",
  theoryBubble: "理论（{0}）：空泡 {1} %",
  stages: "各阶段",
  hint: "拖动平移，Ctrl + 滚轮或双击缩放；方向键、+ \u2212 0；[ ] 切换 step；t 切换主题。单击一个块可固定高亮其 microbatch；Tab 到图中可用方向键选择。",
};

/** What the page that stands alone speaks. */
export interface Speech {
  texts: Texts;
  many: typeof MANY;
  page: typeof PAGE;
}

export const speechOf = (lang: string): Speech =>
  lang === "zh"
    ? { texts: CHINESE, many: MANY_CHINESE, page: PAGE_CHINESE }
    : { texts: ENGLISH, many: MANY, page: PAGE };

export type Texts = typeof ENGLISH;

export const fill = (text: string, ...values: (string | number)[]): string =>
  text.replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));

/** Why a pipeline is shown, where it takes longest; "" else, and of all steps. */
export function longestText(
  longest: Shown["longest"],
  step: number | null,
  pipeline: number,
  texts: Pick<Texts, "longestOf">,
): string {
  const found = longest.find((l) => l[0] === step && l[1] === pipeline);
  return found === undefined ? "" : fill(texts.longestOf, found[2]);
}
