/** Texts of the chart in the language of the page; what is filled in later keeps its place. */
import type { Words } from "../pipeline/details";
import type { Session } from "../api/types";
import { ENGLISH, type Texts } from "../pipeline/texts";
import { openCaptures, shortNames } from "../model/captures";
import { session } from "../model/session";
import { t, type Word } from "../words";
import { cluster } from "./job_state";
import type { Under } from "./pipeline_state";

/** Only what is called a theory is one: the form's simulation and the replay keep the durations that were measured. */
export function chartTexts(below: Under, isAlone = false): Texts {
  const measured = Object.fromEntries(
    Object.keys(ENGLISH).map((key) => [key, t(`chart.${key}` as Word, "{0}", "{1}", "{2}")]),
  ) as Texts;
  // What was simulated without a capture ran on no rank of one.
  const texts = isAlone ? { ...measured, rank: t("chart.device") } : measured;
  return below === "form"
    ? { ...texts, theory: t("chart.simulated"), legendPair: t("chart.legendSimulated") }
    : below === "replay"
      ? { ...texts, theory: t("chart.replayed"), legendPair: t("chart.legendReplayed") }
      : below.startsWith("beside:")
        ? { ...texts, ...besideTexts(below), legendPair: t("chart.legendBeside") }
        : texts;
}

/** Of two captures each has its name. */
function besideTexts(below: Under): Pick<Texts, "measured" | "theory"> {
  const names = new Map(shortNames(openCaptures(session.get())));
  return {
    measured: names.get(cluster.get()) ?? t("chart.measured"),
    theory: names.get(Number(below.slice("beside:".length))) ?? "",
  };
}

/** Words of the field; short names stay as the field writes them. */
export function chartWords(session: Session): Words {
  return {
    kinds: session.kinds.map(([short]) => [short, t(`kind.${short}` as Word)]),
    phases: session.phases.map((_, i) => t(`phase.${i}` as Word)),
    causes: session.causes.map((_, i) => t(`cause.${i}` as Word)),
    sources: session.sources,
  };
}
