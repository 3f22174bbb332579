/** Charts of the pages: see each file. */
export { RankedBars, StackedBars, type Bar, type RankedBar, type Series } from "./chart_bars";
export { Curves, type Curve, type Shade } from "./chart_curves";
export { HeatMap, type HeatCell } from "./chart_heat";
export { SpanRows, type Spans } from "./chart_spans";
