/** The What-if page: what makes the steps of the job slower than they could be, what they would take without it, and which
 * split of layers its stages ask for. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, getBytes } from "../api/client";
import { useAtom, Atom } from "../base/atom";
import { duration } from "../base/time";
import { saveAs } from "../model/exports";
import { fail, notify } from "../model/notices";
import { ranks, session, tab } from "../model/session";
import { registerUrl, urlChanged } from "../model/url_state";
import { StackedBars } from "../panels/chart_bars";
import { HeatMap } from "../panels/chart_heat";
import { useColours } from "../panels/drawing";
import { Empty, Failed, hasNothing, Loading } from "../panels/empty";
import { Select } from "../panels/form";
import { LocalTable } from "../panels/table";
import { language, said, t } from "../words";
import { useReply } from "./data";
import { cluster, job, jobParams } from "./job_state";
import { simulateStages, under } from "./pipeline_state";
import {
  causesOf,
  factorsOf,
  firstRow,
  partsOf,
  stepsOf,
  tableOf,
  toggled,
  workerPart,
  workersOf,
  type Cause,
  type Tables,
  type Worker,
} from "./whatif_model";
import "./whatif.css";

/** Above this many ranks it is worked out when asked for: it reads all of them. */
const MOST_UNASKED = 64;
/** Workers beyond this are not drawn one by one. */
const MOST_IN_MAP = 16384;
const MOST_STEPS = 512;

interface Question {
  without: string;
  scale: string;
  layers: string;
  most: string;
}

const NOTHING: Question = { without: "", scale: "", layers: "", most: "" };
const question = new Atom<Question>(NOTHING);

const part = {
  prefix: "wi",
  read: (): Record<string, string> =>
    Object.fromEntries(Object.entries(question.get()).filter(([, text]) => text !== "")),
  write: (from: Record<string, string>): void =>
    question.set({
      without: from.without ?? "",
      scale: from.scale ?? "",
      layers: from.layers ?? "",
      most: from.most ?? "",
    }),
};

function ask(change: Partial<Question>): void {
  question.update((now) => ({ ...now, ...change }));
  urlChanged();
}

const askedOf = (q: Question): Record<string, string> => ({
  ...(q.without === "" ? {} : { without: q.without }),
  ...(q.scale === "" ? {} : { scale: q.scale }),
});

export function WhatIfPage() {
  const of = useAtom(cluster);
  const overrides = useAtom(job);
  const known = useAtom(session);
  useAtom(language);
  const [wanted, setWanted] = useState(ranks.get().length <= MOST_UNASKED);
  useEffect(() => registerUrl(part), []);
  const params = { cluster: of, ...jobParams() };
  const reply = useReply(
    JSON.stringify([of, overrides]),
    wanted ? (signal) => get<Tables>("whatif", params, signal) : null,
  );
  const choices = known?.clusters ?? [];
  return (
    <main class="page">
      {choices.length > 1 && (
        <div class="controls-row">
          <Select
            label={t("pipeline.cluster")}
            value={String(of)}
            options={choices.map((c, i) => [String(i), c.path] as const)}
            onChange={(i) => {
              question.set(NOTHING);
              cluster.set(Number(i));
              urlChanged();
            }}
          />
        </div>
      )}
      {!wanted ? (
        <div class="controls-row">
          <span>{t("whatif.many", ranks.get().length)}</span>
          <button type="button" onClick={() => setWanted(true)}>
            {t("findings.work-out")}
          </button>
        </div>
      ) : reply.error !== null ? (
        hasNothing(reply.error) ? (
          <NoSteps error={reply.error} />
        ) : (
          <Failed error={reply.error} retry={reply.retry} />
        )
      ) : reply.data === null || reply.isLoading ? (
        <Loading what={t("whatif.working")} />
      ) : (
        <Answered reply={reply.data} />
      )}
    </main>
  );
}

/** Why there is nothing to ask, and the way to what is missing. */
function NoSteps({ error }: { error: unknown }) {
  const text = error instanceof Error ? said(error.message) : "";
  return (
    <Empty title={t("whatif.nothing")}>
      <p>{text}</p>
      <p class="quiet">{t("whatif.needs")}</p>
    </Empty>
  );
}

function Answered({ reply }: { reply: Tables }) {
  const parts = ["whatif_kinds", "whatif_stages", "whatif_replicas"];
  return (
    <>
      <Facts reply={reply} />
      {reply.sentences.map((sentence) => (
        <p class="verdict">{said(sentence)}</p>
      ))}
      {(reply.notes ?? []).map((note) => (
        <p class="quiet">{note}</p>
      ))}
      <Causes causes={causesOf(tableOf(reply, "whatif_causes"))} />
      <Questions reply={reply} />
      <div class="columns-wide">
        <Repairs reply={reply} />
        <WorkerMap reply={reply} />
      </div>
      <Steps reply={reply} />
      <p class="quiet">{t("whatif.parts-hint")}</p>
      <div class="columns-wide">
        {parts.map((name) => {
          const table = tableOf(reply, name);
          return (
            table !== null && (
              <div class="card flush">
                <LocalTable
                  table={table}
                  title={t(`whatif.table-${name}` as "whatif.table-whatif_kinds")}
                  maxRows={12}
                />
              </div>
            )
          );
        })}
      </div>
      <Plan />
    </>
  );
}

function Fact({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Facts({ reply }: { reply: Tables }) {
  const at = firstRow(tableOf(reply, "whatif"));
  const ns = (name: string): string => duration(Number(at(name)));
  const share = (name: string): string => (at(name) === null ? "–" : Number(at(name)).toFixed(3));
  const left = Number(at("steps left out"));
  return (
    <dl class="facts">
      <Fact
        name={t("whatif.workers")}
        value={t(
          "whatif.shape",
          String(at("workers")),
          String(at("stages")),
          String(at("replicas")),
        )}
      />
      <Fact
        name={t("summary.steps")}
        value={left > 0 ? t("whatif.left-out", String(at("steps")), left) : String(at("steps"))}
        title={left > 0 ? String(at("why left out")) : ""}
      />
      <Fact name={t("whatif.measured")} value={ns("measured")} title={t("whatif.measured-title")} />
      <Fact name={t("whatif.replayed")} value={ns("no delay")} title={t("whatif.replayed-title")} />
      <Fact name={t("whatif.ideal")} value={ns("ideal")} title={t("whatif.ideal-title")} />
      <Fact
        name={t("whatif.slowdown")}
        value={share("slowdown")}
        title={t("whatif.slowdown-title")}
      />
      <Fact
        name={t("whatif.waste")}
        value={reply.waste === "none" ? t("whatif.no-waste") : (reply.waste ?? "–")}
      />
      <Fact name={t("whatif.mw")} value={share("M W")} title={t("whatif.mw-title")} />
      <Fact name={t("whatif.ms")} value={share("M S")} title={t("whatif.ms-title")} />
    </dl>
  );
}

// --- causes and repairs -----------------------------------------------------------------------------------------------

const causeWord = (name: string): string =>
  t(`whatif.cause-${name.replace(/ /g, "-")}` as "whatif.cause-worker");

const figureText = (figure: number): string => (Math.abs(figure) < 0.005 ? 0 : figure).toFixed(2);
const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

function Causes({ causes }: { causes: Cause[] }) {
  return (
    <section class="card">
      <h3>{t("whatif.causes")}</h3>
      {causes.every((c) => c.holds !== "yes") && <p class="quiet">{t("whatif.no-cause")}</p>}
      <ol class="findings">
        {causes.map((c) => (
          <li class={`finding ${c.holds === "yes" ? "high" : ""}`}>
            <p>
              <b>{causeWord(c.name)}</b>{" "}
              <span class="quiet">
                {t(`whatif.holds-${c.holds}`)}
                {c.figure !== null &&
                  `: ${figureText(c.figure)}, ${t("whatif.threshold", c.threshold)}`}
              </span>
            </p>
            <p>{capital(said(c.evidence))}</p>
            {c.holds === "yes" && <p>{t("findings.try", said(c.remedy))}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Repairs({ reply }: { reply: Tables }) {
  const table = tableOf(reply, "whatif_repairs");
  return table === null ? null : (
    <div class="card flush" title={t("whatif.repairs-hint")}>
      <LocalTable
        table={table}
        title={t("whatif.repairs")}
        maxRows={10}
        bars={{ "gain share": "--computing" }}
        empty={<p class="quiet">{t("whatif.no-repairs")}</p>}
      />
    </div>
  );
}

// --- the map of workers -----------------------------------------------------------------------------------------------

function WorkerMap({ reply }: { reply: Tables }) {
  const asked = partsOf(useAtom(question).without);
  const at = firstRow(tableOf(reply, "whatif"));
  const [nTp, nStages, nReplicas] = [
    Number(at("tp")),
    Number(at("stages")),
    Number(at("replicas")),
  ];
  const workers = useMemo(() => workersOf(tableOf(reply, "whatif_workers")), [reply]);
  const cells = useMemo(
    () =>
      workers.map((worker) => ({
        row: worker.stage,
        column: worker.replica * nTp + worker.tp,
        value: worker.slowdown,
        worker,
      })),
    [workers],
  );
  const workerOf = (cell: unknown): Worker => (cell as (typeof cells)[number]).worker;
  if (workers.length > MOST_IN_MAP) {
    return (
      <section class="card">
        <h3>{t("whatif.map")}</h3>
        <p class="quiet">{t("whatif.map-many", workers.length)}</p>
      </section>
    );
  }
  return (
    <section class="card">
      <h3>{t("whatif.map")}</h3>
      <p class="quiet">{t("whatif.map-hint")}</p>
      <HeatMap
        title={t("whatif.map")}
        rows={Array.from({ length: nStages }, (_, s) => String(s))}
        columns={Array.from({ length: nReplicas * nTp }, (_, c) =>
          nTp > 1 ? `${Math.floor(c / nTp)}.${c % nTp}` : String(c),
        )}
        rowAxis={t("whatif.stage")}
        columnAxis={t("whatif.replica")}
        cells={cells}
        unit="×"
        text={(value) => value.toFixed(3)}
        lines={(cell) => [
          ["rank", String(workerOf(cell).rank)],
          ...(workerOf(cell).isWorst ? [[t("whatif.worst"), "✓"] as [string, string]] : []),
        ]}
        onCell={(cell) =>
          ask({ without: toggled(question.get().without, workerPart(workerOf(cell), nTp)) })
        }
        isMarked={(cell) => asked.includes(workerPart(workerOf(cell), nTp))}
        height={Math.min(420, 72 + 34 * nStages)}
      />
    </section>
  );
}

// --- what the user asks -----------------------------------------------------------------------------------------------

/** Two texts as they are typed: they count when Enter is pressed or the button. */
function Questions({ reply }: { reply: Tables }) {
  const now = useAtom(question);
  const [typed, setTyped] = useState({ without: now.without, scale: now.scale });
  useEffect(() => setTyped({ without: now.without, scale: now.scale }), [now.without, now.scale]);
  const kinds = tableOf(reply, "whatif_kinds")?.rows.map((row) => `kind=${String(row[0])}`) ?? [];
  const stages = Number(firstRow(tableOf(reply, "whatif"))("stages"));
  const suggested = [
    ...kinds,
    ...Array.from({ length: Math.min(stages, 64) }, (_, s) => `stage=${s}`),
  ];
  return (
    <section class="card">
      <h3>{t("whatif.question")}</h3>
      <form
        class="controls-row"
        onSubmit={(e) => {
          e.preventDefault();
          ask({ without: typed.without.trim(), scale: typed.scale.trim() });
        }}
      >
        <label title={t("whatif.without-title")}>
          {t("whatif.without")}
          <input
            type="text"
            class="mono wide"
            spellcheck={false}
            placeholder="worker=2,0;kind=backward-pp-comm"
            value={typed.without}
            onInput={(e) => setTyped({ ...typed, without: e.currentTarget.value })}
          />
        </label>
        <label title={t("whatif.scale-title")}>
          {t("whatif.scale")}
          <input
            type="text"
            class="mono wide"
            spellcheck={false}
            placeholder="stage=last:-10%"
            value={typed.scale}
            onInput={(e) => setTyped({ ...typed, scale: e.currentTarget.value })}
          />
        </label>
        <Select
          label={t("whatif.add")}
          value=""
          options={[["", "–"], ...suggested.map((p) => [p, p] as const)]}
          onChange={(p) => p !== "" && ask({ without: toggled(typed.without, p) })}
        />
        <button type="submit" class="primary">
          {t("whatif.ask")}
        </button>
        {(now.without !== "" || now.scale !== "") && (
          <button type="button" onClick={() => ask({ without: "", scale: "" })}>
            {t("whatif.clear")}
          </button>
        )}
        <button
          type="button"
          title={t("whatif.timeline-title")}
          onClick={() => void saveTimeline()}
        >
          {t("whatif.timeline")}
        </button>
      </form>
      {(now.without !== "" || now.scale !== "") && <Answer asked={now} />}
    </section>
  );
}

function Answer({ asked }: { asked: Question }) {
  const params = { cluster: cluster.get(), ...jobParams(), ...askedOf(asked) };
  const reply = useReply(JSON.stringify(params), (signal) => get<Tables>("whatif", params, signal));
  if (reply.error !== null) {
    return <Failed error={reply.error} />;
  }
  const table = reply.data === null ? null : tableOf(reply.data, "whatif_answer");
  if (table === null) {
    return <Loading what={t("whatif.working")} />;
  }
  const at = firstRow(table);
  const [step, gain, share] = [Number(at("step")), Number(at("gain")), Number(at("gain share"))];
  return (
    <p class="verdict" aria-busy={reply.isLoading}>
      {t(
        gain >= 0 ? "whatif.less" : "whatif.more",
        duration(step),
        duration(Math.abs(gain)),
        Math.abs(share).toFixed(1),
      )}
    </p>
  );
}

async function saveTimeline(): Promise<void> {
  try {
    const params = { cluster: cluster.get(), ...jobParams(), ...askedOf(question.get()) };
    const bytes = await getBytes("whatif", { ...params, format: "pftrace" });
    saveAs("whatif", "pftrace", new Blob([bytes]));
  } catch (error) {
    fail(error);
  }
}

// --- steps ------------------------------------------------------------------------------------------------------------

function Steps({ reply }: { reply: Tables }) {
  const colours = useColours();
  const steps = useMemo(() => stepsOf(tableOf(reply, "whatif_steps")), [reply]);
  const bars = useMemo(
    () =>
      steps
        .slice(0, MOST_STEPS)
        .map((s) => ({ label: s.step, parts: [s.ideal, s.slower, s.between] })),
    [steps],
  );
  return (
    <section class="card">
      <h3>{t("whatif.steps")}</h3>
      {steps.length > MOST_STEPS && (
        <p class="quiet">{t("whatif.steps-first", MOST_STEPS, steps.length)}</p>
      )}
      <StackedBars
        title={t("whatif.steps")}
        bars={bars}
        series={[
          { name: t("whatif.part-ideal"), colour: colours.lanes[0] ?? colours.accent },
          { name: t("whatif.part-slower"), colour: colours.lanes[2] ?? colours.hatch },
          { name: t("whatif.part-between"), colour: colours.lanes[3] ?? colours.hatch },
        ]}
        axis={t("summary.step")}
        height={200}
      />
    </section>
  );
}

// --- the plan ---------------------------------------------------------------------------------------------------------

const LINES = [
  [
    "Megatron-LM",
    "pipeline model parallel layout",
    (text: string) => `--pipeline-model-parallel-layout "${text}"`,
  ],
  ["MindSpeed", "num layer list", (text: string) => `--num-layer-list ${text}`],
  ["PyTorch", "split points", (text: string) => text],
] as const;

function Plan() {
  const now = useAtom(question);
  const [typed, setTyped] = useState({ layers: now.layers, most: now.most });
  useEffect(() => setTyped({ layers: now.layers, most: now.most }), [now.layers, now.most]);
  return (
    <section class="card">
      <h3>{t("whatif.plan")}</h3>
      <p class="quiet">{t("whatif.plan-hint")}</p>
      <form
        class="controls-row"
        onSubmit={(e) => {
          e.preventDefault();
          ask({ layers: typed.layers.trim(), most: typed.most.trim() });
        }}
      >
        <label>
          {t("whatif.layers")}
          <input
            type="text"
            class="mono"
            spellcheck={false}
            placeholder="8,8,8,8"
            value={typed.layers}
            onInput={(e) => setTyped({ ...typed, layers: e.currentTarget.value })}
          />
        </label>
        <label>
          {t("whatif.most")}
          <input
            type="number"
            min={1}
            max={4096}
            value={typed.most}
            onInput={(e) => setTyped({ ...typed, most: e.currentTarget.value })}
          />
        </label>
        <button type="submit" class="primary" disabled={typed.layers.trim() === ""}>
          {t("whatif.plan-ask")}
        </button>
      </form>
      {now.layers !== "" && <Planned layers={now.layers} most={now.most} />}
    </section>
  );
}

function Planned({ layers, most }: { layers: string; most: string }) {
  const params = {
    cluster: cluster.get(),
    ...jobParams(),
    layers,
    ...(most === "" ? {} : { max_layers: most }),
  };
  const reply = useReply(JSON.stringify(params), (signal) => get<Tables>("plan", params, signal));
  if (reply.error !== null) {
    return <Failed error={reply.error} />;
  }
  if (reply.data === null) {
    return <Loading what={t("whatif.working")} />;
  }
  const at = firstRow(tableOf(reply.data, "plan"));
  const stages = tableOf(reply.data, "plan_stages");
  const lines = LINES.map(([name, column, line]) => {
    const text = at(column);
    return text === null || text === "" ? null : { name, line: line(String(text)) };
  }).filter((line) => line !== null);
  return (
    <div aria-busy={reply.isLoading}>
      {reply.data.sentences.map((sentence) => (
        <p>{said(sentence)}</p>
      ))}
      {lines.length === 0 ? (
        <p class="quiet">{t("whatif.no-lines")}</p>
      ) : (
        <ul class="paste">
          {lines.map(({ name, line }) => (
            <li>
              <span class="quiet">{name}</span> <code>{line}</code>{" "}
              <button type="button" class="tiny" onClick={() => void copy(line)}>
                {t("whatif.copy")}
              </button>
            </li>
          ))}
        </ul>
      )}
      {stages !== null && (
        <p>
          <button
            type="button"
            title={t("whatif.plan-draw-title")}
            onClick={() => drawPlan(factorsOf(stages))}
          >
            {t("whatif.plan-draw")}
          </button>
        </p>
      )}
      {stages !== null && (
        <div class="card flush">
          <LocalTable table={stages} title={t("whatif.plan-stages")} maxRows={16} />
        </div>
      )}
    </div>
  );
}

/** The Pipeline page simulates the measured step with stages that take so many times as long. */
function drawPlan(factors: Record<number, number>): void {
  simulateStages(factors);
  under.set("form");
  tab.set("pipeline");
  urlChanged();
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify("info", t("whatif.copied"));
  } catch (error) {
    fail(error);
  }
}
