/** How the ranks are arranged: the algorithm that numbers them, and the sizes; checked before they are used. */
import { useEffect, useState } from "preact/hooks";
import { get, type Params } from "../api/client";
import { NumberField, Select } from "../panels/form";
import { isWord, t } from "../words";
import { useReply } from "./data";
import { ALGORITHMS, hasCp, hasMoeTp, type Algorithm, type Sizes } from "./summary_model";

export interface Setup {
  algorithm: Algorithm;
  sizes: Sizes;
}

const LARGEST = 10_000;

/** What the analysis is told of the arrangement. */
export function setupParams(setup: Setup | null): Params {
  return setup === null
    ? {}
    : {
        pp: setup.sizes.pp,
        tp: setup.sizes.tp,
        dp: setup.sizes.dp,
        ...(hasCp(setup.algorithm) ? { cp: setup.sizes.cp } : {}),
        order: setup.algorithm,
      };
}

/** The same for the places of the ranks, which experts have a part in. */
export function placeParams(setup: Setup | null): Params {
  if (setup === null) {
    return {};
  }
  const { order, ...sizes } = setupParams(setup);
  return { algorithm: order, ...sizes, ep: setup.sizes.ep, moe_tp: setup.sizes.moetp };
}

interface Checked {
  problems: string[];
  problem_kinds: string[];
}

/** What the server says is wrong with the sizes; in words of the page where it has them. */
const faultsOf = (checked: Checked, nRanks: number): string[] =>
  checked.problems.map((text, i) => {
    const word = `fault.${checked.problem_kinds[i]}`;
    return isWord(word) ? t(word, nRanks) : text;
  });

/** `nRanks`: of the job. */
export function start(
  setup: Setup | null,
  algorithm: Algorithm,
  carried: Partial<Sizes>,
  nRanks: number,
): Setup {
  const known = { pp: 1, tp: 1, cp: 1, ep: 1, moetp: 1, ...carried };
  const dp = carried.dp ?? Math.max(1, Math.floor(nRanks / (known.pp * known.tp * known.cp)));
  return setup ?? { algorithm, sizes: { ...known, dp } };
}

export function ParallelForm({
  setup,
  own,
  carried,
  nRanks,
  worldSize,
  onGenerate,
}: {
  setup: Setup | null;
  own: Algorithm;
  carried: Partial<Sizes>;
  /** Of the capture, and of the job: 0 where it does not say. */
  nRanks: number;
  worldSize: number;
  onGenerate: (setup: Setup | null) => void;
}) {
  const begin = (): Setup => start(setup, own, carried, Math.max(nRanks, worldSize));
  const [draft, setDraft] = useState(begin);
  /** A form that nobody touched says nothing of faults. */
  const [isTouched, setTouched] = useState(false);
  const [asks, setAsks] = useState(false);
  useEffect(
    () => (setDraft(begin()), setTouched(false)),
    [setup, own, JSON.stringify(carried), nRanks, worldSize],
  );
  const { algorithm, sizes } = draft;
  const checked = useReply(JSON.stringify(draft), (signal) =>
    get<Checked>("summary", placeParams(draft), signal),
  );
  const faults = checked.data === null ? [] : faultsOf(checked.data, nRanks);
  const told = isTouched ? faults : [];
  const isUsable = !checked.isLoading && checked.data !== null && faults.length === 0;
  const isCarried = Object.keys(carried).length > 0;
  const differs = (Object.keys(carried) as (keyof Sizes)[]).filter(
    (name) => carried[name] !== sizes[name],
  );
  const fields: (keyof Sizes)[] = [
    "pp",
    "tp",
    ...(hasCp(algorithm) ? (["cp"] as const) : []),
    "dp",
    "ep",
    ...(hasMoeTp(algorithm) ? (["moetp"] as const) : []),
  ];
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
        setTouched(true);
        if (isUsable) {
          generate();
        }
      }}
    >
      <div class="controls-row">
        <Select
          label={t("parallel.algorithm")}
          value={algorithm}
          options={ALGORITHMS.map((a) => [a, t(`algorithm.${a}`)] as const)}
          onChange={(next) => (setTouched(true), setDraft({ ...draft, algorithm: next }))}
        />
        {fields.map((name) => (
          <NumberField
            key={name}
            label={t(`parallel.${name}`)}
            value={sizes[name]}
            least={1}
            most={LARGEST}
            isWrong={told.length > 0 && name !== "moetp"}
            onChange={(value) => (
              setAsks(false),
              setTouched(true),
              setDraft({ ...draft, sizes: { ...sizes, [name]: value } })
            )}
          />
        ))}
        <button type="submit" class="primary" disabled={isTouched && !isUsable}>
          {t(asks ? "parallel.sure" : "parallel.generate")}
        </button>
        {setup !== null && (
          <button type="button" onClick={() => (setAsks(false), onGenerate(null))}>
            {t("parallel.plain")}
          </button>
        )}
      </div>
      {told.map((fault) => (
        <p class="bad" role="alert">
          {fault}
        </p>
      ))}
      {asks && (
        <p class="bad" role="alert">
          {t(
            "parallel.differs",
            differs
              .map((name) => `${name.toUpperCase()} ${carried[name]} → ${sizes[name]}`)
              .join(", "),
          )}
        </p>
      )}
      {isCarried && !asks && <p class="quiet">{t("parallel.carried")}</p>}
    </form>
  );
}
