/** How the ranks are arranged: the algorithm that numbers them, and the sizes; checked before they are used. */
import { useEffect, useState } from "preact/hooks";
import { NumberField, Select } from "../panels/form";
import { t } from "../words";
import { ALGORITHMS, faultsOf, hasCp, hasMoeTp, type Algorithm, type Sizes } from "./summary_model";

export interface Setup {
  algorithm: Algorithm;
  sizes: Sizes;
}

const LARGEST = 10_000;

function start(setup: Setup | null, carried: Partial<Sizes>, nRanks: number): Setup {
  const known = { pp: 1, tp: 1, cp: 1, ep: 1, moetp: 1, ...carried };
  const dp = carried.dp ?? Math.max(1, Math.floor(nRanks / (known.pp * known.tp * known.cp)));
  return setup ?? { algorithm: "megatron", sizes: { ...known, dp } };
}

export function ParallelForm({ setup, carried, nRanks, onGenerate }: { setup: Setup | null; carried: Partial<Sizes>; nRanks: number; onGenerate: (setup: Setup | null) => void }) {
  const [draft, setDraft] = useState(start(setup, carried, nRanks));
  const [asks, setAsks] = useState(false);
  useEffect(() => setDraft(start(setup, carried, nRanks)), [setup, JSON.stringify(carried), nRanks]);
  const { algorithm, sizes } = draft;
  const faults = faultsOf(algorithm, sizes, nRanks);
  const isCarried = Object.keys(carried).length > 0;
  const differs = (Object.keys(carried) as (keyof Sizes)[]).filter((name) => carried[name] !== sizes[name]);
  const fields: (keyof Sizes)[] = ["pp", "tp", ...(hasCp(algorithm) ? (["cp"] as const) : []), "dp", "ep", ...(hasMoeTp(algorithm) ? (["moetp"] as const) : [])];
  const generate = (): void => {
    if (differs.length > 0 && !asks) {
      setAsks(true);
      return;
    }
    setAsks(false);
    onGenerate(draft);
  };
  return (
    <form
      class="card"
      onSubmit={(e) => {
        e.preventDefault();
        if (faults.length === 0) {
          generate();
        }
      }}
    >
      <div class="controls-row">
        <Select label={t("parallel.algorithm")} value={algorithm} options={ALGORITHMS.map((a) => [a, t(`algorithm.${a}`)] as const)} onChange={(next) => setDraft({ ...draft, algorithm: next })} />
        {fields.map((name) => (
          <NumberField key={name} label={t(`parallel.${name}`)} value={sizes[name]} least={1} most={LARGEST} isWrong={faults.length > 0 && name !== "moetp"} onChange={(value) => (setAsks(false), setDraft({ ...draft, sizes: { ...sizes, [name]: value } }))} />
        ))}
        <button type="submit" class="primary" disabled={faults.length > 0}>{t(asks ? "parallel.sure" : "parallel.generate")}</button>
        {setup !== null && <button type="button" onClick={() => (setAsks(false), onGenerate(null))}>{t("parallel.plain")}</button>}
      </div>
      {faults.map((fault) => <p class="bad" role="alert">{t(`fault.${fault}`, nRanks)}</p>)}
      {asks && <p class="bad" role="alert">{t("parallel.differs", differs.map((name) => `${name.toUpperCase()} ${carried[name]} → ${sizes[name]}`).join(", "))}</p>}
      {isCarried && !asks && <p class="quiet">{t("parallel.carried")}</p>}
    </form>
  );
}
