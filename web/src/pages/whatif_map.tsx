/** How much slower each worker is than the ideal, stages by replicas. */
import { useMemo } from "preact/hooks";
import { useAtom } from "../base/atom";
import { fixed } from "../base/time";
import { HeatMap, type HeatCell } from "../panels/chart_heat";
import { t } from "../words";
import {
  firstRow,
  partsOf,
  slowdownEnds,
  tableOf,
  toggled,
  workerPart,
  workersOf,
  type Tables,
  type Worker,
} from "./whatif_model";
import { ask, question } from "./whatif_state";

/** Workers beyond this are not drawn one by one. */
const MOST_IN_MAP = 16384;

export function WorkerMap({ reply }: { reply: Tables }) {
  const workers = useMemo(() => workersOf(tableOf(reply, "whatif_workers")), [reply]);
  return (
    <section class="card">
      <h3>{t("whatif.map")}</h3>
      {workers.length > MOST_IN_MAP ? (
        <p class="quiet">{t("whatif.map-many", workers.length)}</p>
      ) : (
        <>
          <p class="quiet">{t("whatif.map-hint")}</p>
          <Heat reply={reply} workers={workers} />
        </>
      )}
    </section>
  );
}

const workerOf = (cell: HeatCell): Worker => (cell as HeatCell & { worker: Worker }).worker;

function Heat({ reply, workers }: { reply: Tables; workers: Worker[] }) {
  const asked = partsOf(useAtom(question).without);
  const at = firstRow(tableOf(reply, "whatif"));
  const nTp = Number(at("tp"));
  const nStages = Number(at("stages"));
  const nReplicas = Number(at("replicas"));
  const cells = useMemo(() => workers.map((worker) => cellOf(worker, nTp)), [workers]);
  const ends = useMemo(() => slowdownEnds(workers), [workers]);
  const columnName = (c: number): string =>
    nTp > 1 ? `${Math.floor(c / nTp)}.${c % nTp}` : String(c);
  const partOf = (cell: HeatCell): string => workerPart(workerOf(cell), nTp);
  return (
    <HeatMap
      title={t("whatif.map")}
      rows={Array.from({ length: nStages }, (_, s) => String(s))}
      columns={Array.from({ length: nReplicas * nTp }, (_, c) => columnName(c))}
      rowAxis={t("whatif.stage")}
      columnAxis={t("whatif.replica")}
      cells={cells}
      unit="×"
      text={(value) => fixed(value, 3)}
      lines={(cell) => [
        ["rank", String(workerOf(cell).rank)],
        ...(workerOf(cell).isWorst ? [[t("whatif.worst"), "✓"] as [string, string]] : []),
      ]}
      onCell={(cell) => ask({ without: toggled(question.get().without, partOf(cell)) })}
      isMarked={(cell) => asked.includes(partOf(cell))}
      ends={ends}
      height={Math.min(420, 72 + 34 * nStages)}
    />
  );
}

const cellOf = (worker: Worker, nTp: number) => ({
  row: worker.stage,
  column: worker.replica * nTp + worker.tp,
  value: worker.slowdown,
  worker,
});
