/** The simulation: schedule, numbers, durations and factors of stages, each as it was measured until it is changed; what comes of
 * it stands beside, and lies below the measured rows at once. */
import { useAtom } from "../base/atom";
import { duration, fixed, percent } from "../base/time";
import { session } from "../model/session";
import { NumberField } from "../panels/number_field";
import { makeView } from "../pipeline/rows";
import { useEffect, useMemo, useState } from "preact/hooks";
import { t, type Word } from "../words";
import { comparedText, measuredOf } from "./pipeline_figures";
import {
  change,
  changeFactor,
  choice,
  filled,
  fillForm,
  form,
  isSimulating,
  loaded,
  NO_FORM,
  refusal,
  simulated,
  under,
  type Form,
} from "./pipeline_state";

/** Which schedules listen to which variant (docs/commands/simulate.md). */
const TAKES: Record<"chunks" | "group" | "overlap" | "tail", readonly string[]> = {
  chunks: ["interleaved", "interleaved-zb", "looped-bfs"],
  group: ["interleaved", "interleaved-zb"],
  overlap: ["interleaved"],
  tail: ["dualpipev"],
};
/** More stages than this: factors are entered for one stage at a time. */
const MOST_SLIDERS = 16;

type Time = "f_ns" | "b_ns" | "w_ns" | "fb_ns" | "p2p_ns";

export function SimulateForm() {
  const f = useAtom(form);
  const sim = useAtom(simulated);
  const known = useAtom(session);
  const now = useAtom(loaded);
  const below = useAtom(under);
  const left = useAtom(filled);
  const used = sim?.reply?.used ?? left ?? undefined;
  const isLeft = below === "none" || below.startsWith("beside:");
  const isEmpty = now !== null && isLeft && used === undefined;
  useEffect(() => {
    if (isEmpty) {
      void fillForm();
    }
  }, [isEmpty, now]);
  const schedule = f.schedule ?? used?.schedule ?? "1f1b";
  const takes = (what: keyof typeof TAKES): boolean => TAKES[what].includes(schedule);
  const isChanged = JSON.stringify(f) !== JSON.stringify(NO_FORM);
  const measured = used?.measured;
  const mean = (at: 0 | 1 | 2 | 3): number =>
    used === undefined
      ? 0
      : used.times.reduce((sum, x) => sum + x[at], 0) / Math.max(1, used.times.length);
  return (
    <div class="sim">
      <div class="sim-fields">
        <div class="sim-shape">
          <label>
            {t("simulate.schedule")}
            <select
              value={schedule}
              onChange={(e) =>
                change({
                  schedule: e.currentTarget.value,
                  chunks: null,
                  group: null,
                  overlap: false,
                  tail: null,
                })
              }
            >
              {(known?.schedules ?? []).map(({ name, summary }) => (
                <option key={name} value={name} title={summary}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <Count
            word="simulate.stages"
            value={f.stages ?? used?.stages ?? null}
            most={4096}
            set={(stages) => change({ stages })}
          />
          <Count
            word="simulate.microbatches"
            value={f.microbatches ?? used?.microbatches ?? null}
            most={65536}
            set={(microbatches) => change({ microbatches })}
          />
          {takes("chunks") && (
            <Count
              word="simulate.chunks"
              value={f.chunks ?? used?.chunks ?? null}
              most={64}
              set={(chunks) => change({ chunks })}
            />
          )}
          {takes("group") && (
            <Count
              word="simulate.group"
              value={f.group}
              most={65536}
              set={(group) => change({ group })}
            />
          )}
          {takes("overlap") && (
            <label>
              <input
                type="checkbox"
                checked={f.overlap}
                onChange={(e) => change({ overlap: e.currentTarget.checked })}
              />
              {t("simulate.overlap")}
            </label>
          )}
          {takes("tail") && (
            <label>
              {t("simulate.tail")}
              <select
                value={f.tail ?? "split"}
                onChange={(e) =>
                  change({ tail: e.currentTarget.value === "full" ? "full" : "split" })
                }
              >
                <option value="split">{t("simulate.tail-split")}</option>
                <option value="full">{t("simulate.tail-full")}</option>
              </select>
            </label>
          )}
        </div>
        <div class="sim-times" title={`${t("simulate.per-op")}. ${t("simulate.relative")}`}>
          <TimeField word="simulate.f" name="f_ns" now={mean(0)} own={measured?.[0]} f={f} />
          <TimeField word="simulate.b" name="b_ns" now={mean(1)} own={measured?.[1]} f={f} />
          <TimeField
            word="simulate.w"
            name="w_ns"
            now={mean(2)}
            own={measured?.[2]}
            f={f}
            isIdle={used !== undefined && !used.splits}
          />
          <TimeField
            word="simulate.fb"
            name="fb_ns"
            now={mean(3)}
            own={measured?.[3]}
            f={f}
            isIdle={used !== undefined && !used.pairs}
          />
          <TimeField
            word="simulate.p2p"
            name="p2p_ns"
            now={used?.p2p_ns ?? 0}
            own={used?.measured_p2p_ns}
            f={f}
            largest={mean(0)}
          />
        </div>
        {used !== undefined && used.pieces > 1 && (
          <p class="quiet sim-pieces">{t("simulate.per-chunk", used.pieces)}</p>
        )}
        <Factors n={used?.stages ?? 0} f={f} />
      </div>
      <Outcome isChanged={isChanged} />
    </div>
  );
}

function Count({
  word,
  value,
  most,
  set,
}: {
  word: Word;
  value: number | null;
  most: number;
  set: (value: number | null) => void;
}) {
  return (
    <label>
      {t(word)}
      <NumberField
        min={1}
        max={most}
        step={1}
        value={value}
        set={(v) => set(v === null || v < 1 ? null : Math.min(most, Math.round(v)))}
      />
    </label>
  );
}

/** A duration: slider from a quarter to four times what it is, and the number in ms, or what it is to be of what was measured. */
function TimeField({
  word,
  name,
  now,
  own = 0,
  f,
  isIdle = false,
  largest = 0,
}: {
  word: Word;
  name: Time;
  now: number;
  own?: number | undefined;
  f: Form;
  isIdle?: boolean;
  largest?: number;
}) {
  const value = f[name] ?? now;
  const [base, setBase] = useState(0);
  // The slider's ends stay while it is moved.
  const middle = base > 0 ? base : Math.max(now, largest / 4);
  const set = (ns: number | null): void => change({ [name]: ns });
  const top = Math.max(middle * (name === "p2p_ns" ? 4 : 3), 1000);
  return (
    <label
      class={`sim-time${isIdle ? " idle" : ""}${f[name] !== null ? " changed" : ""}`}
      title={isIdle ? t("simulate.not-used") : undefined}
    >
      <span>{t(word)}</span>
      <input
        type="range"
        min={name === "p2p_ns" ? 0 : top / 60}
        max={top}
        step={top / 300}
        value={value}
        disabled={isIdle}
        aria-label={t(word)}
        onPointerDown={() => setBase(Math.max(now, largest / 4))}
        onInput={(e) => set(Math.round(Number(e.currentTarget.value)))}
      />
      <NumberField
        min={0}
        step="any"
        value={Number((value / 1e6).toPrecision(4))}
        disabled={isIdle}
        own={own / 1e6}
        label={`${t(word)} ms`}
        set={(ms) => set(ms === null || ms < 0 ? null : Math.round(ms * 1e6))}
      />
      <span class="quiet">ms</span>
    </label>
  );
}

function Factors({ n, f }: { n: number; f: Form }) {
  const [stage, setStage] = useState(0);
  const changed = Object.keys(f.factors)
    .map(Number)
    .filter((s) => s < n);
  const shown =
    n <= MOST_SLIDERS
      ? Array.from({ length: n }, (_, s) => s)
      : [...new Set([Math.min(stage, n - 1), ...changed])]
          .filter((s) => s >= 0)
          .sort((a, b) => a - b)
          .slice(0, MOST_SLIDERS);
  return (
    <fieldset class="sim-factors">
      <legend title={t("simulate.factors-hint")}>{t("simulate.factors")}</legend>
      {n > MOST_SLIDERS && (
        <label>
          {t("chart.stage")}
          <NumberField
            min={0}
            max={n - 1}
            value={stage}
            set={(v) => setStage(Math.max(0, Math.min(n - 1, Math.round(v ?? 0))))}
          />
        </label>
      )}
      {shown.map((s) => {
        const factor = f.factors[s] ?? 1;
        return (
          <label key={s} class={`sim-factor${factor !== 1 ? " changed" : ""}`}>
            <span>{s}</span>
            <input
              type="range"
              min={0.5}
              max={2}
              step={0.01}
              value={factor}
              aria-label={t("simulate.stage-factor", s)}
              onInput={(e) => changeFactor(s, Number(e.currentTarget.value))}
            />
            <NumberField
              min={0.01}
              max={100}
              step={0.01}
              value={factor}
              label={t("simulate.stage-factor", s)}
              set={(v) => changeFactor(s, v !== null && v >= 0.01 && v <= 100 ? v : 1)}
            />
          </label>
        );
      })}
    </fieldset>
  );
}

/** By what can be seen. */
const NOTHING = 0.0005;
const less = (a: number, b: number): boolean => a < b - NOTHING;
const signed = (value: number, text: string): string =>
  value >= NOTHING ? `+${text}` : value <= -NOTHING ? `−${text}` : text;

/** What the figures are of, which need not be the form's: what lies below the measured rows. */
const WHAT_LIES_BELOW: Partial<Record<string, Word>> = {
  form: "simulate.of-form",
  none: "simulate.of-form",
  replay: "simulate.of-replay",
};

function Outcome({ isChanged }: { isChanged: boolean }) {
  const sim = useAtom(simulated);
  const why = useAtom(refusal);
  const busy = useAtom(isSimulating);
  const now = useAtom(loaded);
  const chosen = useAtom(choice);
  const below = useAtom(under);
  // One step is what a simulation is compared with.
  const measured = useMemo(
    () =>
      now === null || chosen.step === null ? null : measuredOf(makeView(now.chart, null, chosen)),
    [now, chosen],
  );
  if (why !== null) {
    return (
      <div class="sim-out">
        <p class="sim-wrong" role="alert">
          {why}
        </p>
        <Resets isChanged={isChanged} />
      </div>
    );
  }
  if (sim?.reply == null || (below === "none" && now !== null)) {
    return (
      <div class="sim-out">
        <p class="quiet">{busy ? t("simulate.running") : t("simulate.unchanged")}</p>
        <Resets isChanged={isChanged} />
      </div>
    );
  }
  const { step_ns, bubble, activations } = sim.reply;
  const { replayed_ns = 0, replayed_bubble = null } = sim.reply;
  const gain = replayed_ns === 0 ? null : (step_ns - replayed_ns) / replayed_ns;
  const beside = comparedText(sim, measured);
  return (
    <div class="sim-out" aria-live="polite" aria-busy={busy}>
      <p>{t(WHAT_LIES_BELOW[sim.under] ?? "simulate.of-theory", sim.reply.used.schedule)}</p>
      <dl>
        <div>
          <dt>{t("simulate.step-time")}</dt>
          <dd>
            <b>{duration(step_ns)}</b>
            {gain !== null && (
              <span class={less(gain, 0) ? "better" : "quiet"}>
                {" "}
                {signed(gain, `${percent(Math.abs(gain))} %`)}
              </span>
            )}
          </dd>
        </div>
        <div>
          <dt>{t("simulate.bubble")}</dt>
          <dd>
            <b>{percent(bubble)} %</b>
            {replayed_bubble !== null && (
              <span class={less(bubble, replayed_bubble) ? "better" : "quiet"}>
                {" "}
                {t(
                  "simulate.points",
                  signed(bubble - replayed_bubble, percent(Math.abs(bubble - replayed_bubble))),
                )}
              </span>
            )}
          </dd>
        </div>
        <div title={t("simulate.activations-title")}>
          <dt>{t("simulate.activations")}</dt>
          <dd>
            <b>{activations % 1 === 0 ? activations : fixed(activations, 1)}</b>{" "}
            {t("simulate.activations-of")}
          </dd>
        </div>
      </dl>
      {beside !== "" && <p class="quiet">{t("simulate.against")}</p>}
      {beside !== "" && <p class="sim-compared">{beside}</p>}
      {measured !== null && sim.under === "form" && (
        <p class="quiet">{t("simulate.one-step", chosen.step!)}</p>
      )}
      {beside !== "" && <p class="quiet">{t("simulate.both-times")}</p>}
      <Resets isChanged={isChanged} />
    </div>
  );
}

function Resets({ isChanged }: { isChanged: boolean }) {
  const sim = useAtom(simulated);
  const even = (): void => {
    const times = sim?.reply?.used.times ?? [];
    const n = times.length;
    if (n > 0) {
      const busy = times.map(([f, b]) => f + b);
      const mean = busy.reduce((a, b) => a + b, 0) / n;
      change({
        factors: Object.fromEntries(
          busy
            .map((ns, s) => [s, ns > 0 ? Number((mean / ns).toFixed(3)) : 1] as const)
            .filter(([, v]) => v !== 1),
        ),
      });
    }
  };
  return (
    <p class="sim-buttons">
      <button type="button" disabled={!isChanged} onClick={() => form.set(NO_FORM)}>
        {t("simulate.reset")}
      </button>
      <button type="button" onClick={even}>
        {t("simulate.even")}
      </button>
    </p>
  );
}
