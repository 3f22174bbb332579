/** Every text of a chart, in English; the viewer gives the same in other languages. `{0}` is filled in by fill(). */
export const ENGLISH = {
  stage: "stage",
  rank: "rank",
  pipeline: "pipeline {0}",
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
  theory: "theory",
  waiting: "waiting, {0}",
  waitsFor: "waits for",
  opOnStage: "{0} on stage {1}",
  noOps: "no ops",
  notMeasured: "not measured",
  fromStart: "from the step’s start",
  busy: "busy %",
  legend: "legend",
  legendWaiting: "waiting: {0}",
  otherWork: "other work",
  otherWorkHint: "in no op, and no bubble",
  legendOther: "other work, in no op",
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

/** Those of a page that stands alone and has many ranks. */
export const MANY = {
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

export type Texts = typeof ENGLISH;

export const fill = (text: string, ...values: (string | number)[]): string =>
  text.replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));
