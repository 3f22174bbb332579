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
  legendPair: "measured, and below it theory",
  busyTime: "busy",
  shareOfStep: "share of the step",
  bubbleShare: "bubble %",
  chart: "pipeline chart",
  partForward: "forward",
  partBackward: "backward",
  partCommunication: "communication",
};

export type Texts = typeof ENGLISH;

export const fill = (text: string, ...values: (string | number)[]): string =>
  text.replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)] ?? ""));
