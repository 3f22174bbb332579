/** What metadata should have said: sizes, schedule, names of ranges. The chart is analysed again with it. */
import { useState } from "preact/hooks";
import { useAtom } from "../base/atom";
import { session } from "../model/session";
import { t } from "../words";
import { job, JOB_FIELDS, type Job } from "./job_state";

const ORDERS = ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "mindspeed", "mindie", "vllm"];
const NUMBERS: ReadonlySet<string> = new Set(["pp", "tp", "cp", "dp", "microbatches"]);

export function JobForm() {
  const now = useAtom(job);
  const known = useAtom(session);
  const [said, setSaid] = useState<Job>(now);
  const set = (key: string, value: string): void => {
    const next = { ...said };
    delete next[key];
    setSaid(value.trim() === "" ? next : { ...next, [key]: value.trim() });
  };
  const choices: Record<string, string[]> = {
    order: ORDERS,
    pp_type: (known?.schedules ?? []).map((s) => s.name),
  };
  return (
    <form
      class="job"
      onSubmit={(e) => {
        e.preventDefault();
        job.set(said);
      }}
    >
      <p class="quiet">{t("job.hint")}</p>
      <div class="job-fields">
        {JOB_FIELDS.map((key) => (
          <label key={key} class={key === "align" ? "check" : undefined}>
            {key === "align" ? (
              <>
                <input
                  type="checkbox"
                  checked={said[key] === "1"}
                  onChange={(e) => set(key, e.currentTarget.checked ? "1" : "")}
                />{" "}
                {t("job.align")}
              </>
            ) : (
              <>
                <span>{t(`job.${key}`)}</span>
                {choices[key] !== undefined ? (
                  <select value={said[key] ?? ""} onChange={(e) => set(key, e.currentTarget.value)}>
                    <option value="">{t("job.as-found")}</option>
                    {choices[key].map((name) => (
                      <option key={name} value={name}>
                        {name}
                      </option>
                    ))}
                  </select>
                ) : NUMBERS.has(key) ? (
                  <input
                    type="number"
                    min={1}
                    step={1}
                    value={said[key] ?? ""}
                    placeholder={t("job.as-found")}
                    onInput={(e) => set(key, e.currentTarget.value)}
                  />
                ) : (
                  <input
                    type="text"
                    class="mono"
                    value={said[key] ?? ""}
                    placeholder={key === "microbatch_re" ? "mb=([0-9]+)" : ""}
                    spellcheck={false}
                    onInput={(e) => set(key, e.currentTarget.value)}
                  />
                )}
              </>
            )}
          </label>
        ))}
      </div>
      <p>
        <button
          type="submit"
          class="primary"
          disabled={JSON.stringify(said) === JSON.stringify(now)}
        >
          {t("job.apply")}
        </button>{" "}
        <button
          type="button"
          disabled={Object.keys(said).length === 0 && Object.keys(now).length === 0}
          onClick={() => {
            setSaid({});
            job.set({});
          }}
        >
          {t("job.reset")}
        </button>
      </p>
    </form>
  );
}
