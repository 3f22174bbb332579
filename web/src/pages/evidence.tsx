/** Where a finding was seen: places one click away, in the pipeline chart or in the timeline. */
import { get } from "../api/client";
import type { Ref, Table } from "../api/types";
import type { Ns } from "../base/ns";
import { duration } from "../base/time";
import { fail } from "../model/notices";
import { box, boxLocked, gotoPipeline, tab } from "../model/session";
import { analyse, showWhole } from "../model/timeline";
import { t } from "../words";
import { nsReader, reader } from "./data";
import { shortName } from "./findings_model";
import { showWork } from "./pipeline_jump";
import { readyRank } from "./ready_rank";
import { stepInPipeline, stepInTimeline } from "./where_travel";

const MOST_PLACES = 4;
/** Of a name on a button, so that the figure behind it is not cut. */
const MOST_NAME = 32;

interface Place {
  key: string;
  rank: string;
  step: string | null;
  /** Since the epoch; null: of the whole step, or of all of them. */
  at: bigint | null;
  dur: number;
  name: string;
  /** On its button, and whole. */
  text: string;
  /** Behind it, never cut. */
  took: string;
  full: string;
  note: string;
}

/** Rows of cluster_evidence about a finding that name a rank of the timeline. */
function placesOf(evidence: Table, finding: number): Place[] {
  const of = reader(evidence, "finding");
  const rank = reader(evidence, "rank id");
  const key = reader(evidence, "key");
  const step = reader(evidence, "step");
  const time = reader(evidence, "time");
  const dur = nsReader(evidence, "duration");
  const name = reader(evidence, "name");
  const note = reader(evidence, "note");
  return evidence.rows
    .filter((row) => of(row) === finding && key(row) !== null)
    .map((row) => {
      const textOf = (said: string): string =>
        [
          t("findings.rank", String(rank(row))),
          step(row) === null ? "" : t("findings.step", String(step(row))),
          said,
        ]
          .filter((part) => part !== "")
          .join(" \u00b7 ");
      const called = String(name(row) ?? "");
      const took = dur(row) === null ? "" : ` \u00b7 ${duration(dur(row)!)}`;
      return {
        key: String(key(row)),
        rank: String(rank(row)),
        step: step(row) === null ? null : String(step(row)),
        at: time(row) === null ? null : BigInt(time(row)!),
        dur: dur(row) ?? 0,
        name: called,
        text: textOf(shortName(called, MOST_NAME)),
        took,
        full: textOf(called) + took,
        note: String(note(row) ?? ""),
      };
    });
}

const titleOf = (place: Place): string =>
  place.note === "" ? place.full : `${place.full}\n${place.note}`;

/** The slice of an event, also of one that is but a part of it: a wait lies in the operator that waited. null: none has that name, as of a
 * gap. Times of the rank. */
async function sliceOf({ key, name }: Place, start: Ns, end: Ns): Promise<Ref | null> {
  const exact = await get<{ ref: Ref | null }>("slice_at", { rank: key, start, end });
  if (exact.ref?.name === name) {
    return exact.ref;
  }
  const named = { q: name, case: 1, ranks: key, rank: key, time: end, dir: "previous" };
  const { ref } = await get<{ ref: Ref | null }>("search/step", named);
  return ref?.name === name && ref.start + ref.dur > start ? ref : null;
}

/** A sum has no place of its own: it is a mean over steps, and the middle one of them by length is like it. */
async function stepOf({ key, step }: Place): Promise<string | null> {
  const byLength = [...((await readyRank(key)).steps ?? [])].sort(
    (a, b) => a[2] - a[1] - (b[2] - b[1]),
  );
  const usual = byLength[(byLength.length - 1) >> 1];
  return step ?? (usual === undefined ? null : String(usual[0]));
}

/** What was boxed and analysed before is of another place. */
function forgetSpans(): void {
  if (!boxLocked.get()) {
    box.set(null);
    analyse(null);
  }
}

async function showPlace(place: Place, isPipeline: boolean): Promise<void> {
  const { at } = place;
  try {
    if (at === null) {
      await (isPipeline
        ? stepInPipeline(place.rank, place.step)
        : stepInTimeline(place.key, await stepOf(place)));
      return;
    }
    const rank = await readyRank(place.key);
    const from = Number(at - BigInt(rank.origin_ns!));
    const to = from + place.dur;
    if (isPipeline) {
      gotoPipeline.set({ rank: place.key, from, to, isHost: null });
      tab.set("pipeline");
      return;
    }
    const ref = await sliceOf(place, from, to);
    forgetSpans();
    await (ref === null ? showWork(rank, from, to) : showWhole(ref));
  } catch (error) {
    fail(error);
  }
}

/** `section`: of the report; what it says of the pipeline is in the chart. */
export function Evidence({
  evidence,
  finding,
  section,
}: {
  evidence: Table;
  finding: number;
  section: string;
}) {
  const places = placesOf(evidence, finding).slice(0, MOST_PLACES);
  return places.length === 0 ? null : (
    <p class="places">
      {places.map((place) => (
        <button
          type="button"
          title={titleOf(place)}
          onClick={() => void showPlace(place, section === "pipeline")}
        >
          <span>{place.text}</span>
          {place.took}
        </button>
      ))}
    </p>
  );
}
