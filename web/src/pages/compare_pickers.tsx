/** What is compared: capture, rank and step of each side; and what is proposed where nobody has chosen. */
import { useAtom } from "../base/atom";
import { baseline, baselineOf, chooseBaseline } from "../model/baseline";
import { openCaptures, shortNames } from "../model/captures";
import { ranks, session } from "../model/session";
import { Select } from "../panels/form";
import { t } from "../words";
import {
  ALL,
  isChosen,
  isOneRank,
  isSame,
  MOST_UNASKED,
  proposedRanks,
  proposedSteps,
  stepIds,
  type Proposal,
  type Side,
  type Sides,
} from "./compare_sides";
import { chooseParts, compare, compareRank, comparing, partsOf } from "./compare_state";
import { useReply, wholeTable } from "./data";

/** Both sides, as the user has chosen them; of one capture, where nothing of it is chosen, what is proposed. `isKnown`: it is worked out. */
export function useSides(): { sides: Sides; proposal: Proposal | null; isKnown: boolean } {
  const state = useAtom(comparing);
  const opened = useAtom(session);
  const told = useAtom(baseline);
  const known = useAtom(ranks);
  const captures = openCaptures(opened).map(([i]) => i);
  const first = captures[0] ?? 0;
  const chosen = captures.includes(state.base) ? state.base : baselineOf(opened, told);
  const other = captures.length > 1 ? (chosen ?? captures[1]) : first;
  const now = captures.includes(state.now)
    ? state.now
    : (captures.find((i) => i !== other) ?? first);
  const asked = partsOf(state, now, other);
  const isOpen = now === other && !isChosen(asked.now) && !isChosen(asked.base);
  const own = known.filter((r) => r.cluster === now);
  const isFew = own.length <= MOST_UNASKED;
  const reply = useReply(
    `overview ${now} ${isOpen}`,
    isOpen && isFew
      ? (signal) =>
          wholeTable("view", { name: "overview", cluster: now }, null, signal).catch(() => null)
      : null,
  );
  if (!isOpen) {
    return { sides: asked, proposal: null, isKnown: true };
  }
  const proposal = proposedRanks(
    reply.data,
    own.map((r) => r.rank),
  );
  const steps = proposal === null ? proposedSteps(own[0]) : null;
  const side = (rank: string | undefined, step: string | undefined): Side => ({
    cluster: now,
    rank: rank ?? "",
    step: step ?? "",
  });
  return {
    sides: {
      now: side(proposal?.now, steps?.now),
      base: side(proposal?.base, steps?.base),
    },
    proposal,
    isKnown: !isFew || !reply.isLoading,
  };
}

/** Takes over what is chosen of both sides, with the captures. */
function choose({ now, base }: Sides): void {
  const isOther = base.cluster !== now.cluster;
  compare({
    now: now.cluster,
    base: isOther ? -1 : base.cluster,
    ...chooseParts(now, base),
    name: "",
    detail: "",
  });
  if (isOther) {
    chooseBaseline(base.cluster);
  }
}

const REASONS = {
  stage: "compare.proposed-stage",
  computing: "compare.proposed-computing",
  other: "compare.proposed-other",
  "other of stage": "compare.proposed-other-stage",
  first: "compare.proposed-first",
} as const;

export function SidePickers({ sides, proposal }: { sides: Sides; proposal: Proposal | null }) {
  const { now, base } = sides;
  const whole = { now: { ...now, rank: ALL }, base: { ...base, rank: ALL } };
  const hasWay = (isOneRank(now) || isOneRank(base)) && !isSame(whole);
  return (
    <>
      <div class="controls-row side">
        <SidePicker
          label={t("compare.new")}
          side={now}
          onChange={(to) => choose({ now: to, base })}
        />
      </div>
      <div class="controls-row side">
        <SidePicker
          label={t("compare.base")}
          side={base}
          onChange={(to) => choose({ now, base: to })}
        />
        <button type="button" onClick={() => choose({ now: base, base: now })}>
          {t("compare.swap")}
        </button>
        {hasWay && (
          <button type="button" onClick={() => compareRank(ALL)}>
            {t("compare.back-to-all")}
          </button>
        )}
      </div>
      {proposal !== null && (
        <p class="quiet">{t(REASONS[proposal.reason], proposal.now, proposal.base)}</p>
      )}
    </>
  );
}

interface SidePickerProps {
  label: string;
  side: Side;
  onChange: (to: Side) => void;
}

function SidePicker({ label, side, onChange }: SidePickerProps) {
  const known = useAtom(ranks);
  const captures = shortNames(openCaptures(useAtom(session)));
  const numbers = [
    ...new Set(known.filter((r) => r.cluster === side.cluster).map((r) => r.rank)),
  ].sort((a, b) => a - b);
  const steps = stepIds(known, side.cluster).map(String);
  // A step that is chosen stands there also before a rank that has it is read.
  const there = side.step === "" || side.step === ALL || steps.includes(side.step);
  const choice = (value: string): string => (value === "" ? ALL : value);
  return (
    <>
      {captures.length > 1 ? (
        <Select
          label={label}
          value={String(side.cluster)}
          options={captures.map(([i, path]) => [String(i), path] as const)}
          onChange={(i) => onChange({ cluster: Number(i), rank: ALL, step: ALL })}
        />
      ) : (
        <span>{label}</span>
      )}
      <Select
        label={t("compare.rank")}
        value={choice(side.rank)}
        options={[
          [ALL, t("compare.all-ranks", numbers.length)] as const,
          ...numbers.map((n) => [String(n), `rank ${n}`] as const),
        ]}
        onChange={(rank) => onChange({ ...side, rank })}
      />
      <Select
        label={t("compare.step")}
        value={choice(side.step)}
        options={[
          [ALL, t("pipeline.all-steps")] as const,
          ...(there ? steps : [...steps, side.step]).map((id) => [id, `step ${id}`] as const),
        ]}
        onChange={(step) => onChange({ ...side, step })}
      />
    </>
  );
}
