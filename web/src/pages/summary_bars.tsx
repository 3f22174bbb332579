/** What steps are made of, one bar a rank or a box of ranks. */
import { useMemo } from "preact/hooks";
import type { Cell, Table } from "../api/types";
import { StackedBars, type Bar } from "../panels/chart";
import { useColours } from "../panels/drawing";
import { Empty } from "../panels/empty";
import { LocalTable } from "../panels/table";
import { t } from "../words";
import { endToEnd, type Box, type Entry, type Indicator, type Values } from "./summary_model";

const BARS: Indicator[] = ["preparing", "pure_computing", "overlapped", "exposed", "free", "after"];

export function seriesOf(
  colours: Pick<ReturnType<typeof useColours>, "lanes" | "kinds" | "phases">,
) {
  const [computing, communication, exposed, free] = colours.lanes;
  // Of the theme those that are told from the four lanes and from one another, in any vision.
  const [before, after] = [colours.phases[1], colours.kinds[8]];
  return [before, computing, communication, exposed, free, after].map((colour, i) => ({
    name: t(`indicator.${BARS[i]}`),
    colour: colour ?? "#808080",
  }));
}

const barOf = (label: string, v: Values): Bar => {
  const whole = endToEnd(v);
  return {
    label,
    parts: BARS.map((i) => (v[i] === null ? null : Math.max(0, v[i]))),
    ratios: [v.computing, v.exposed].map((x) => (x === null || whole <= 0 ? null : x / whole)),
  };
};

interface RankBarsProps {
  entries: Entry[];
  rank: string | null;
  choose: (rank: string | null) => void;
}

export function RankBars({ entries, rank, choose }: RankBarsProps) {
  const colours = useColours();
  const bars = useMemo(
    () =>
      entries.map((e): Bar => ({
        ...barOf(e.index, e.values),
        isMarked: e.index === rank,
        act: () => choose(e.index === rank ? null : e.index),
      })),
    [entries, rank],
  );
  const lines = [
    { name: t("summary.computing-ratio"), colour: colours.ink },
    { name: t("summary.communication-ratio"), colour: colours.quiet },
  ];
  return (
    <section class="card">
      <h3>{t("summary.overview")}</h3>
      {bars.every((bar) => bar.parts.every((part) => part === null)) ? (
        <Empty title={t("summary.no-times")} />
      ) : (
        <StackedBars
          title={t("summary.overview")}
          bars={bars}
          series={seriesOf(colours)}
          lines={lines}
          axis={t("summary.axis")}
          height={260}
        />
      )}
    </section>
  );
}

/** The largest of each box: what the others of the box wait for. */
export function Folded({ boxes }: { boxes: Box[] }) {
  const colours = useColours();
  const table: Table = {
    name: "folded",
    title: "",
    total: boxes.length,
    offset: 0,
    columns: [
      ["box", "text", "", false],
      ["ranks", "text", "", false],
      ...(["computing", "communication", "exposed", "free"] as const).flatMap(
        (i): Table["columns"] => [
          [`${i} max`, "real", "ns", false],
          [`${i} min`, "real", "ns", false],
          [`${i} range`, "real", "ns", false],
        ],
      ),
    ],
    rows: boxes.map((b) => [
      b.label,
      b.ranks.join(", "),
      ...(["computing", "communication", "exposed", "free"] as const).flatMap((i): Cell[] => [
        b.max[i],
        b.min[i],
        b.max[i] === null ? null : b.max[i] - b.min[i]!,
      ]),
    ]),
  };
  return (
    <>
      <section class="card">
        <h3>{t("summary.folded")}</h3>
        <StackedBars
          title={t("summary.folded")}
          bars={boxes.map((b) => barOf(b.label, b.max))}
          series={seriesOf(colours)}
          axis={t("summary.axis-box")}
          height={260}
        />
      </section>
      <div class="card flush">
        <LocalTable table={table} title={t("summary.folded")} maxRows={10} />
      </div>
    </>
  );
}
