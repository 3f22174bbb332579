/** What the program found in a capture: each with its figure, its rule and one thing to try. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAtom } from "../base/atom";
import { duration, signed } from "../base/time";
import { firstCapture } from "../model/captures";
import { ranks, session } from "../model/session";
import { Failed, Loading } from "../panels/empty";
import { DataTable } from "../panels/table";
import { inBrackets, language, spoken, t } from "../words";
import { MOST_UNASKED, nsReader, reader, useReply, wholeTable } from "./data";
import { Evidence } from "./evidence";
import { leadOf } from "./findings_model";
import { ranksIn, useAsked } from "./ready_rank";

const MOST_SHOWN = 6;

async function firstText(view: string, signal: AbortSignal): Promise<string | null> {
  const table = await wholeTable("view", { name: view, ...spoken() }, null, signal);
  return table !== null && table.rows.length > 0 ? signed(String(table.rows[0][0] ?? "")) : null;
}

/** The first sentence; what else there is, with the rule, opens below it. */
function Said({ what, children }: { what: string; children: ComponentChildren }) {
  const [lead, rest] = leadOf(what);
  return (
    <>
      <p>{lead}</p>
      <details>
        <summary class="quiet">{t("findings.more")}</summary>
        {rest !== "" && <p>{rest}</p>}
        {children}
      </details>
    </>
  );
}

/** `verdict`: the view whose first cell is the paragraph above them. The order is the server's: the largest gain first. */
export function Findings({
  view,
  verdict,
  title,
}: {
  view: string;
  verdict?: string;
  title: string;
}) {
  const speaks = useAtom(language);
  const own = firstCapture(useAtom(session));
  const { isAsked, ask } = useAsked(MOST_UNASKED, ranksIn(useAtom(ranks), own));
  const [all, setAll] = useState(false);
  const reply = useReply(
    `${view} ${speaks}`,
    isAsked ? (signal) => wholeTable("view", { name: view, ...spoken() }, null, signal) : null,
  );
  const said = useReply(
    `verdict ${verdict ?? ""} ${speaks}`,
    isAsked && verdict !== undefined ? (signal) => firstText(verdict, signal) : null,
  );
  const evidence = useReply(
    `cluster_evidence ${speaks}`,
    isAsked
      ? (signal) => wholeTable("view", { name: "cluster_evidence", ...spoken() }, null, signal)
      : null,
  );
  if (!isAsked) {
    return (
      <section class="card">
        <div class="controls-row">
          <h3>{title}</h3>
          <button type="button" onClick={ask}>
            {t("findings.work-out")}
          </button>
        </div>
      </section>
    );
  }
  const { data } = reply;
  if (data === null) {
    return (
      <section class="card">
        <h3>{title}</h3>
        {reply.error !== null ? (
          <Failed error={reply.error} retry={reply.retry} />
        ) : (
          <Loading what={t("findings.working")} />
        )}
      </section>
    );
  }
  const number = reader(data, "finding");
  const section = reader(data, "section");
  const severity = reader(data, "severity");
  const name = reader(data, "title");
  const what = reader(data, "what");
  const attempt = reader(data, "try");
  const value = reader(data, "value");
  const threshold = reader(data, "threshold");
  const rule = reader(data, "fires when");
  const gain = nsReader(data, "gain");
  const gainFrom = reader(data, "gain from");
  return (
    <section class="card">
      <h3>{title}</h3>
      {said.data !== null && <p class="verdict">{said.data}</p>}
      {data.rows.length === 0 && <p class="quiet">{t("findings.none")}</p>}
      <ol class="findings">
        {data.rows.slice(0, MOST_SHOWN).map((row) => (
          <li class={`finding ${String(severity(row))}`}>
            <p>
              <b>{t("findings.nth", Number(number(row)), String(name(row)))}</b>
              {gain(row) !== null && (
                <span class="quiet">
                  {" "}
                  {t(
                    gainFrom(row) === "replay" ? "findings.replayed" : "findings.gain",
                    duration(gain(row)!),
                  )}
                </span>
              )}
            </p>
            <Said what={String(what(row) ?? "")}>
              <p class="quiet">
                {t("findings.rule", value(row) ?? "–", threshold(row) ?? "–")}
                {rule(row) !== null && inBrackets(String(rule(row)))}
              </p>
            </Said>
            {attempt(row) !== null && <p>{t("findings.try", String(attempt(row)))}</p>}
            {evidence.data !== null && (
              <Evidence
                evidence={evidence.data}
                finding={Number(number(row))}
                section={String(section(row))}
              />
            )}
          </li>
        ))}
      </ol>
      {data.rows.length > 0 && (
        <p>
          <button type="button" aria-expanded={all} onClick={() => setAll(!all)}>
            {t(all ? "findings.less" : "findings.all", data.rows.length)}
          </button>
        </p>
      )}
      {all && <DataTable path="view" params={{ name: view, ...spoken() }} title="" maxRows={12} />}
    </section>
  );
}
