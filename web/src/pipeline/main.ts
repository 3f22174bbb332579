/** Starts the page from the data that it carries inside. */
import { unpackAlike, type PackedAlike } from "./alike";
import { App, type PageData } from "./page";
import { unpack, type Packed } from "./unpack";
import "./chart.css";
import "./pipeline.css";

type Raw = Omit<PageData, "chart" | "against" | "alike"> & {
  chart: Packed;
  against?: Packed;
  alike?: PackedAlike;
};

const root = document.getElementById("app");
const text = document.getElementById("data")?.textContent;
if (root !== null && text != null) {
  const raw = JSON.parse(text) as Raw;
  new App(root, {
    ...raw,
    chart: unpack(raw.chart),
    against: raw.against === undefined ? null : unpack(raw.against),
    alike: raw.alike === undefined ? null : unpackAlike(raw.alike),
  });
}
