/** The What-if page: what makes the steps of the job slower than they could be, what they would take without it, and which
 * split of layers its stages ask for. */
import { useEffect, useMemo } from "preact/hooks";
import { get, hasNothing } from "../api/client";
import { useAtom } from "../base/atom";
import { duration, fixed } from "../base/time";
import { openCaptures, shortNames } from "../model/captures";
import { ranks, session } from "../model/session";
import { registerUrl, urlChanged } from "../model/url_state";
import { StackedBars } from "../panels/chart_bars";
import { useColours } from "../panels/drawing";
import { Empty, Failed, Loading } from "../panels/empty";
import { Select } from "../panels/form";
import { LocalTable } from "../panels/table";
import { language, spoken, stepWord, t } from "../words";
import { useReply } from "./data";
import { cluster, job, jobParams } from "./job_state";
import { WorkerMap } from "./whatif_map";
import { causesOf, firstRow, stepsOf, tableOf, type Cause, type Tables } from "./whatif_model";
import { Plan } from "./whatif_plan";
import { Questions } from "./whatif_questions";
import { ranksIn, useAsked } from "./ready_rank";
import { NOTHING, part, question } from "./whatif_state";
import "./whatif.css";

/** Above this many ranks it is worked out when asked for: it reads all of them. */
const MOST_UNASKED = 64;
const MOST_STEPS = 512;

export function WhatIfPage() {
  const of = useAtom(cluster);
  const overrides = useAtom(job);
  const known = useAtom(session);
  const speaks = useAtom(language);
  const { isAsked, unread, ask } = useAsked(MOST_UNASKED, ranksIn(useAtom(ranks), of));
  useEffect(() => registerUrl(part), []);
  const params = { cluster: of, ...jobParams(), ...spoken() };
  const reply = useReply(
    JSON.stringify([of, overrides, speaks]),
    isAsked ? (signal) => get<Tables>("whatif", params, signal) : null,
  );
  const choices = shortNames(openCaptures(known));
  return (
    <main class="page">
      {choices.length > 1 && (
        <div class="controls-row">
          <Select
            label={t("pipeline.cluster")}
            value={String(of)}
            options={choices.map(([i, path]) => [String(i), path] as const)}
            onChange={(i) => {
              question.set(NOTHING);
              cluster.set(Number(i));
              urlChanged();
            }}
          />
        </div>
      )}
      {!isAsked ? (
        <div class="controls-row">
          <span>{t("whatif.many", unread)}</span>
          <button type="button" onClick={ask}>
            {t("whatif.work-out")}
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
  const text = error instanceof Error ? error.message : "";
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
      <p class="quiet">{reply.usual}</p>
      {reply.sentences.map((sentence) => (
        <p class="verdict">{sentence}</p>
      ))}
      {(reply.notes ?? []).map((note) => (
        <p class="quiet">{note}</p>
      ))}
      <Causes causes={causesOf(tableOf(reply, "whatif_causes"))} />
      <Questions reply={reply} />
      <div class="columns-wide repairs-first">
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
    <div title={title} tabIndex={title ? 0 : undefined}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Facts({ reply }: { reply: Tables }) {
  const at = firstRow(tableOf(reply, "whatif"));
  const ns = (name: string): string => duration(Number(at(name)));
  const share = (name: string): string => (at(name) === null ? "–" : fixed(Number(at(name)), 3));
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
                  `: ${fixed(c.figure, 2)}, ${t("whatif.threshold", c.threshold)}`}
              </span>
            </p>
            <p>{capital(c.evidence)}</p>
            {c.holds === "yes" && <p>{t("findings.try", c.remedy)}</p>}
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
        sort={{ column: "gain", desc: true }}
        bars={{ "gain share": "--computing" }}
        empty={<p class="quiet">{t("whatif.no-repairs")}</p>}
      />
    </div>
  );
}

// --- steps ---

function Steps({ reply }: { reply: Tables }) {
  const colours = useColours();
  const steps = useMemo(() => stepsOf(tableOf(reply, "whatif_steps")), [reply]);
  const bars = useMemo(
    () =>
      steps
        .slice(0, MOST_STEPS)
        .map((s) => ({ label: stepWord(s.step), parts: [s.ideal, s.slower, s.between] })),
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
