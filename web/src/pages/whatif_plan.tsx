/** Which split of layers the stages of the job ask for, under the schedule that ran and under others: what `pipescope plan` prints. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import { useAtom } from "../base/atom";
import { tab } from "../model/session";
import { urlChanged } from "../model/url_state";
import { Failed, Loading } from "../panels/empty";
import { Check } from "../panels/form";
import { LocalTable } from "../panels/table";
import { spoken, t } from "../words";
import { useReply } from "./data";
import { cluster, jobParams } from "./job_state";
import { simulateStages, under } from "./pipeline_state";
import { factorsOf, firstRow, tableOf, type Tables } from "./whatif_model";
import { Paste } from "./whatif_paste";
import { Schedules } from "./whatif_schedules";
import { ask, question, type Question } from "./whatif_state";

const LINES = [
  [
    "Megatron-LM",
    "pipeline model parallel layout",
    (text: string) => `--pipeline-model-parallel-layout "${text}"`,
  ],
  ["MindSpeed", "num layer list", (text: string) => `--num-layer-list ${text}`],
  ["PyTorch", "split points", (text: string) => text],
] as const;

export function Plan() {
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
          ask({ layers: typed.layers.trim(), most: typed.most.trim(), row: "" });
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
        <Check
          label={t("whatif.empty-stages")}
          checked={now.empty === "1"}
          onChange={(on) => ask({ empty: on ? "1" : "", row: "" })}
        />
        <button type="submit" class="primary" disabled={typed.layers.trim() === ""}>
          {t("whatif.plan-ask")}
        </button>
      </form>
      {now.layers !== "" && <Planned {...now} />}
    </section>
  );
}

function Planned({ layers, most, empty, row }: Question) {
  const params = {
    cluster: cluster.get(),
    ...jobParams(),
    ...spoken(),
    layers,
    ...(most === "" ? {} : { max_layers: most }),
    ...(empty === "" ? {} : { empty_stages: 1 }),
    ...(row === "" ? {} : { row }),
  };
  const reply = useReply(JSON.stringify(params), (signal) => get<Tables>("plan", params, signal));
  if (reply.error !== null) {
    return <Failed error={reply.error} />;
  }
  if (reply.data === null) {
    return <Loading what={t("whatif.working")} />;
  }
  const stages = tableOf(reply.data, "plan_stages");
  return (
    <div class="planned" aria-busy={reply.isLoading}>
      {reply.data.sentences.map((sentence) => (
        <p>{sentence}</p>
      ))}
      <Lines reply={reply.data} />
      {stages !== null && (
        <>
          <p>
            <button
              type="button"
              title={t("whatif.plan-draw-title")}
              onClick={() => drawPlan(factorsOf(stages))}
            >
              {t("whatif.plan-draw")}
            </button>
          </p>
          <div class="card flush">
            <LocalTable table={stages} title={t("whatif.plan-stages")} maxRows={16} />
          </div>
        </>
      )}
      <Schedules reply={reply.data} />
    </div>
  );
}

/** Of layers that lie on several chunks of a stage the plan of that schedule among all has the lines. */
function Lines({ reply }: { reply: Tables }) {
  const at = firstRow(tableOf(reply, "plan"));
  const lines = LINES.map(([name, column, line]) => {
    const text = at(column);
    return text === null || text === "" ? null : { name, line: line(String(text)) };
  }).filter((line) => line !== null);
  const own = at("plan of own schedule");
  return typeof own === "number" ? (
    <p>
      <button type="button" onClick={() => ask({ row: String(own) })}>
        {t("whatif.own-plan", own)}
      </button>
    </p>
  ) : lines.length === 0 ? (
    <p class="quiet">{t("whatif.no-lines")}</p>
  ) : (
    <Paste lines={lines} doubt={reply.doubt} />
  );
}

/** The Pipeline page simulates the measured step with stages that take so many times as long. */
function drawPlan(factors: Record<number, number>): void {
  simulateStages(factors);
  under.set("form");
  tab.set("pipeline");
  urlChanged();
}
