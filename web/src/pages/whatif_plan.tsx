/** Which split of layers the stages of the job ask for. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import { useAtom } from "../base/atom";
import { fail, notify } from "../model/notices";
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
        <Check
          label={t("whatif.empty-stages")}
          checked={now.empty === "1"}
          onChange={(on) => ask({ empty: on ? "1" : "" })}
        />
        <button type="submit" class="primary" disabled={typed.layers.trim() === ""}>
          {t("whatif.plan-ask")}
        </button>
      </form>
      {now.layers !== "" && <Planned {...now} />}
    </section>
  );
}

function Planned({ layers, most, empty }: Pick<Question, "layers" | "most" | "empty">) {
  const params = {
    cluster: cluster.get(),
    ...jobParams(),
    ...spoken(),
    layers,
    ...(most === "" ? {} : { max_layers: most }),
    ...(empty === "" ? {} : { empty_stages: 1 }),
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
    <div aria-busy={reply.isLoading}>
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
    </div>
  );
}

/** What is to be pasted into the job's own settings. */
function Lines({ reply }: { reply: Tables }) {
  const at = firstRow(tableOf(reply, "plan"));
  const lines = LINES.map(([name, column, line]) => {
    const text = at(column);
    return text === null || text === "" ? null : { name, line: line(String(text)) };
  }).filter((line) => line !== null);
  return lines.length === 0 ? (
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
