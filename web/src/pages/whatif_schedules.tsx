/** The best split under each schedule that can run the job: what `pipescope plan` prints below the one of the schedule that ran. */
import type { Table } from "../api/types";
import { LocalTable } from "../panels/table";
import { t } from "../words";
import { Paste } from "./whatif_paste";
import { leftOutOf, linesOf, tableOf, type Tables } from "./whatif_model";
import { ask } from "./whatif_state";

export function Schedules({ reply }: { reply: Tables }) {
  const plans = tableOf(reply, "plan_list");
  const left = leftOutOf(tableOf(reply, "plan_left_out"));
  return (
    <>
      <h3>{t("whatif.schedules")}</h3>
      {plans !== null && <p class="quiet">{t("whatif.plans-hint")}</p>}
      {plans !== null && <List plans={plans} chosen={chosenPlan(reply)} />}
      {(reply.remarks ?? []).map((remark) => (
        <p class="quiet">{remark}</p>
      ))}
      <Chosen reply={reply} />
      {left.length > 0 && (
        <>
          <p>{t("whatif.left-out-schedules")}</p>
          <ul class="quiet left-out">
            {left.map(({ schedules, why }) => (
              <li>{t("whatif.left-out-why", schedules.join(", "), why)}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** The plan that is shown in full; null: there is none. */
function chosenPlan(reply: Tables): number | null {
  const stages = tableOf(reply, "plan_schedule_stages");
  const number = stages?.rows[0]?.[stages.columns.findIndex(([name]) => name === "number")];
  return typeof number === "number" ? number : null;
}

function List({ plans, chosen }: { plans: Table; chosen: number | null }) {
  return (
    <div class="card flush">
      <LocalTable
        table={plans}
        title={t("whatif.plans")}
        maxRows={20}
        onRow={(row) => Number(row.get("no.")) > 0 && ask({ row: String(row.get("no.")) })}
        isMarked={(row) => chosen !== null && row.get("no.") === chosen}
      />
    </div>
  );
}

/** The plan of the row that was clicked, at first the best one that can be pasted: what its stages have, and its lines. */
function Chosen({ reply }: { reply: Tables }) {
  const stages = tableOf(reply, "plan_schedule_stages");
  const number = chosenPlan(reply);
  if (stages === null || number === null) {
    return null;
  }
  const lines = linesOf(tableOf(reply, "plan_schedule_lines"));
  return (
    <>
      <div class="card flush">
        <LocalTable
          table={stages}
          title={t("whatif.plan-in-full", number)}
          hidden={["number"]}
          maxRows={16}
        />
      </div>
      {lines.length === 0 ? (
        <p class="quiet">{t("whatif.no-schedule-lines")}</p>
      ) : (
        <Paste lines={lines} doubt={reply.doubt} />
      )}
    </>
  );
}
