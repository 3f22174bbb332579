/** Keys of the Pipeline page, and the pictures that can be saved of it. */
import { getText, postText } from "../api/client";
import type { Command } from "../model/commands";
import { blobOf, offer, type ExportKind } from "../model/exports";
import { isDark } from "../model/look";
import type { ChartView } from "../pipeline/chart_view";
import { t } from "../words";
import { factsOf } from "./pipeline_figures";
import {
  arrows,
  askOf,
  chartParams,
  choice,
  loaded,
  simulated,
  stepBy,
  under,
  type Drawn,
} from "./pipeline_state";
import { toTimeline } from "./pipeline_travel";

const ZOOM_KEY = 1.5;
const PAN_KEY = 1 / 8;

/** What is on the page; null: not yet. */
export interface OnPage {
  view: () => ChartView | null;
  drawn: () => Drawn | null;
}

export function pipelineCommands({ view, drawn }: OnPage): Command[] {
  const isOff = (): boolean => view() === null;
  const isNotPinned = (): boolean => view()?.pinned == null;
  const act = (word: Command["word"], keys: string[], run: () => void): Command => ({
    id: word,
    word,
    keys,
    run,
    isOff,
    needs: "palette.needs-chart",
  });
  const block = { isOff: isNotPinned, needs: "palette.needs-block" } as const;
  const again = (word: Command["word"], keys: string[], run: () => void): Command => ({
    ...act(word, keys, run),
    repeats: true,
  });
  const follow = (): void => {
    const shown = view();
    const what = drawn();
    if (shown !== null && what !== null && shown.pinned !== null) {
      toTimeline(shown, what, shown.pinned);
    }
  };
  return [
    again("pipeline.zoom-in", ["w", "+", "="], () => view()?.zoom(ZOOM_KEY)),
    again("pipeline.zoom-out", ["s", "-"], () => view()?.zoom(1 / ZOOM_KEY)),
    act("pipeline.fit", ["0", "Ctrl+0"], () => view()?.fit()),
    again("pipeline.left", ["a", "ArrowLeft", "Shift+ArrowLeft"], () => view()?.panBy(-PAN_KEY)),
    again("pipeline.right", ["d", "ArrowRight", "Shift+ArrowRight"], () => view()?.panBy(PAN_KEY)),
    act("pipeline.previous-step", ["["], () => stepBy(-1)),
    act("pipeline.next-step", ["]"], () => stepBy(1)),
    {
      ...act("pipeline.toggle-arrows", ["f"], () => arrows.update((on) => !on)),
      id: "pipeline.arrows",
    },
    { ...act("pipeline.let-go", ["Escape"], () => view()?.pin(null)), ...block },
    { ...act("pipeline.follow", ["Enter"], follow), ...block },
  ];
}

export function offerPictures(page: OnPage): () => void {
  return offer({
    tab: "pipeline",
    title: () => page.drawn()?.chart.title ?? t("tab.pipeline"),
    kinds: ["png", "svg", "json"],
    isOff: () => page.view() === null,
    make: (kind) => makePicture(kind, page),
  });
}

function makePicture(kind: ExportKind, page: OnPage): Promise<Blob | string> {
  if (kind === "png") {
    return makePng(page);
  }
  if (kind === "json") {
    return getText("chart", { ...chartParams(), format: "json" });
  }
  const look = { format: "svg", dark: isDark.get() };
  const { step, pipeline } = choice.get();
  return loaded.get() !== null && under.get() === "none"
    ? getText("chart", {
        ...chartParams(),
        ...(step !== null ? { step } : {}),
        ...(pipeline !== null ? { pipeline } : {}),
        ...look,
      })
    : postText("simulate", { ...askOf(loaded.get() === null ? "form" : under.get()), ...look });
}

function makePng({ view, drawn }: OnPage): Promise<Blob> {
  const shown = view()!;
  const what = drawn()!;
  const sim = under.get() === "none" ? null : simulated.get();
  return blobOf(
    shown.picture(what.chart.title, [
      factsOf(what, shown.view, sim).join(" · "),
      ...what.chart.notes,
    ]),
  );
}
