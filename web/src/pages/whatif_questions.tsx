/** What the user asks: how long a step would take without some of its work, or with it faster. */
import { useEffect, useState } from "preact/hooks";
import { get, getBytes } from "../api/client";
import { useAtom } from "../base/atom";
import { duration, fixed } from "../base/time";
import { saveAs } from "../model/exports";
import { fail, sentenceOf } from "../model/notices";
import { Select } from "../panels/form";
import { t } from "../words";
import { useReply } from "./data";
import { cluster, jobParams } from "./job_state";
import { firstRow, tableOf, toggled, type Tables } from "./whatif_model";
import { ask, askedOf, question, type Question } from "./whatif_state";

/** Two texts as they are typed: they count when Enter is pressed or the button. */
export function Questions({ reply }: { reply: Tables }) {
  const now = useAtom(question);
  const [typed, setTyped] = useState({ without: now.without, scale: now.scale });
  useEffect(() => setTyped({ without: now.without, scale: now.scale }), [now.without, now.scale]);
  const kinds = tableOf(reply, "whatif_kinds")?.rows.map((row) => `kind=${String(row[0])}`) ?? [];
  const stages = Number(firstRow(tableOf(reply, "whatif"))("stages"));
  const suggested = [
    ...kinds,
    ...Array.from({ length: Math.min(stages, 64) }, (_, s) => `stage=${s}`),
  ];
  const isAsked = now.without !== "" || now.scale !== "";
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
        <Part
          name="without"
          example="worker=2,0;kind=backward-pp-comm"
          value={typed.without}
          onInput={(without) => setTyped({ ...typed, without })}
        />
        <Part
          name="scale"
          example="stage=last:-10%"
          value={typed.scale}
          onInput={(scale) => setTyped({ ...typed, scale })}
        />
        <Select
          label={t("whatif.add")}
          value=""
          options={[["", "–"], ...suggested.map((p) => [p, p] as const)]}
          onChange={(p) => p !== "" && ask({ without: toggled(typed.without, p) })}
        />
        <button type="submit" class="primary">
          {t("whatif.ask")}
        </button>
        <button type="button" disabled={!isAsked} onClick={() => ask({ without: "", scale: "" })}>
          {t("whatif.clear")}
        </button>
        <button
          type="button"
          title={t("whatif.timeline-title")}
          onClick={() => void saveTimeline()}
        >
          {t("whatif.timeline")}
        </button>
      </form>
      <Answer asked={now} isAsked={isAsked} />
    </section>
  );
}

interface PartProps {
  name: "without" | "scale";
  example: string;
  value: string;
  onInput: (text: string) => void;
}

function Part({ name, example, value, onInput }: PartProps) {
  return (
    <label title={t(`whatif.${name}-title`)}>
      {t(`whatif.${name}`)}
      <input
        type="text"
        class="mono wide"
        spellcheck={false}
        placeholder={example}
        value={value}
        onInput={(e) => onInput(e.currentTarget.value)}
      />
    </label>
  );
}

/** A line from the beginning: what is below stays where it is when the answer comes, also the cell of the map that was clicked. */
function Answer({ asked, isAsked }: { asked: Question; isAsked: boolean }) {
  const params = { cluster: cluster.get(), ...jobParams(), ...askedOf(asked) };
  const reply = useReply(
    JSON.stringify(params),
    isAsked ? (signal) => get<Tables>("whatif", params, signal) : null,
  );
  const failure = reply.error === null || !isAsked ? null : sentenceOf(reply.error);
  if (failure !== null) {
    return (
      <p class="verdict" role="alert">
        {failure.slice(0, 1).toUpperCase() + failure.slice(1)}
      </p>
    );
  }
  const table = reply.data === null || !isAsked ? null : tableOf(reply.data, "whatif_answer");
  if (table === null) {
    return (
      <p class="verdict quiet" aria-busy={isAsked}>
        {t(isAsked ? "whatif.working" : "whatif.not-asked")}
      </p>
    );
  }
  const at = firstRow(table);
  const [step, gain, share] = [Number(at("step")), Number(at("gain")), Number(at("gain share"))];
  return (
    <p class="verdict" aria-busy={reply.isLoading}>
      {t(
        gain >= 0 ? "whatif.less" : "whatif.more",
        duration(step),
        duration(Math.abs(gain)),
        fixed(Math.abs(share), 1),
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
