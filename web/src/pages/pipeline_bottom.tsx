/** Below the chart: the tables of the chart, the simulation, and what the user says of the job. */
import type { ComponentChild } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { ChartTable } from "../api/types";
import { register } from "../model/commands";
import { Atom, useAtom } from "../base/atom";
import { followDrag } from "../base/pointer";
import { Empty } from "../panels/empty";
import { session } from "../model/session";
import { Icon } from "../panels/icons";
import { LocalTable, type TableRow } from "../panels/table";
import type { TableJump } from "../panels/table_options";
import { language, t, type Word } from "../words";
import "../panels/panels.css";
import { SimulateForm } from "./pipeline_form";
import { jump } from "./pipeline_jump";
import { JobForm } from "./pipeline_job";
import {
  choice,
  failure,
  form,
  loaded,
  panel,
  PANELS,
  simulated,
  under,
  type Panel,
} from "./pipeline_state";
import { blockTable, chosenRows, pathTable, replayOf, WHY, withLeftOut } from "./pipeline_tables";
import { chartWords } from "./pipeline_words";

const TABS: Record<Panel, Word> = {
  stages: "pipeline.tab-stages",
  blocks: "pipeline.tab-blocks",
  path: "pipeline.tab-path",
  waits: "pipeline.tab-waits",
  others: "pipeline.tab-others",
  simulate: "pipeline.tab-simulate",
  job: "pipeline.tab-job",
};

const isOpen = new Atom(true);
const height = new Atom(0); // 0: as the window suggests
const allRows = new Atom(false);
const LEAST = 88;

const heightNow = (): number =>
  height.get() > 0
    ? height.get()
    : Math.max(176, Math.min(320, Math.round(window.innerHeight * 0.3)));

function resize(e: PointerEvent): void {
  const from = e.clientY;
  const before = heightNow();
  const move = (now: PointerEvent): void =>
    height.set(Math.max(LEAST, Math.min(window.innerHeight - 240, before + from - now.clientY)));
  followDrag(e.currentTarget as HTMLElement, e, { move }, 0);
}

export function Bottom() {
  const tab = useAtom(panel);
  const open = useAtom(isOpen);
  const error = useAtom(failure);
  useAtom(height);
  useEffect(
    () =>
      register([
        {
          id: "pipeline.panel",
          word: "pipeline.toggle-panel",
          keys: ["q"],
          run: () => isOpen.update((on) => !on),
        },
      ]),
    [],
  );
  useEffect(() => {
    if (error !== null && panel.get() !== "job") {
      panel.set("simulate"); // there are no tables
    }
  }, [error]);
  const show = (name: Panel): void => {
    if (name === "simulate" && under.get() !== "form" && loaded.get() !== null) {
      // what stands in the form is what is drawn
      under.set("form");
    }
    panel.set(name);
    isOpen.set(true);
  };
  return (
    <section
      class="bottom pl-bottom"
      aria-label={t("pipeline.panel")}
      style={open ? { height: `${heightNow()}px` } : undefined}
    >
      {open && (
        <div
          class="bottom-edge"
          role="separator"
          aria-orientation="horizontal"
          tabIndex={0}
          aria-label={t("bottom.resize")}
          aria-valuenow={heightNow()}
          onPointerDown={resize}
          onKeyDown={(e) => {
            if (e.key === "ArrowUp" || e.key === "ArrowDown") {
              e.preventDefault();
              e.stopPropagation();
              height.set(Math.max(LEAST, heightNow() + (e.key === "ArrowUp" ? 20 : -20)));
            }
          }}
        />
      )}
      <div class="bottom-tabs" role="tablist">
        {PANELS.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === tab}
            onClick={() => show(name)}
          >
            {t(TABS[name])}
          </button>
        ))}
        <span class="spring" />
        <button
          type="button"
          class="flat"
          aria-expanded={open}
          aria-label={t("pipeline.toggle-panel")}
          title={`${t("pipeline.toggle-panel")} (Q)`}
          onClick={() => isOpen.set(!open)}
        >
          <Icon name={open ? "down" : "up"} />
        </button>
      </div>
      {open && (
        <div class="bottom-body" role="tabpanel">
          {BODIES[tab]()}
        </div>
      )}
    </section>
  );
}

const BODIES: Record<Panel, () => ComponentChild> = {
  stages: () => <Rows of="PipelineBubble" />,
  blocks: () => <Ops make={blockTable} title={t("pipeline.blocks")} />,
  path: () => <Path />,
  waits: () => <Rows of="PipelineWaits" />,
  others: () => <Rows of="PipelineReplay" />,
  simulate: () => <SimulateForm />,
  job: () => <JobForm />,
};

/** How long the path is, and its links. */
const Path = () => (
  <div class="split">
    <Ops make={pathTable} title={t("pipeline.links")} isPath />
    <Rows of="PipelineStep" />
  </div>
);

interface OpsProps {
  make: typeof blockTable;
  title: string;
  /** What is not there where no path is known. */
  isPath?: true;
}

/** Ops of the chart that is loaded, each with its stage and rank. A row leads to its block in the timeline. */
function Ops({ make, title, isPath }: OpsProps) {
  const now = useAtom(loaded);
  const known = useAtom(session);
  const { step, pipeline } = useAtom(choice);
  const all = useAtom(allRows);
  const spoken = useAtom(language);
  const table = useMemo(() => {
    const kinds = known === null ? [] : chartWords(known).kinds;
    return now === null || (isPath === true && now.chart.path.length === 0)
      ? null
      : make(
          now.chart,
          all ? null : step,
          all ? null : pipeline,
          (k) => kinds[k]?.[1] ?? "",
          t("table.yes"),
        );
  }, [now, known, step, pipeline, all, spoken]);
  const leads: TableJump = {
    isThere: true,
    can: () => true,
    to: (row) => {
      const op = Number(row.get("row"));
      const { rank, start, end } = now!.chart;
      void jump(now!, rank[op], op, start[op], end[op]);
    },
  };
  return table === null ? (
    isPath === true ? null : (
      <Empty title={t("pipeline.no-table")} />
    )
  ) : (
    <div class="pl-table">
      {isPath !== true && <AllRows />}
      <LocalTable
        key={`${table.name} ${step} ${pipeline} ${all}`}
        table={table}
        title={title}
        jump={leads}
      />
    </div>
  );
}

/** The choice between the step and pipeline that are shown, and all of them. */
const AllRows = () => (
  <label class="pl-all">
    <input
      type="checkbox"
      checked={useAtom(allRows)}
      onChange={(e) => allRows.set(e.currentTarget.checked)}
    />
    {t("pipeline.all-rows")}
  </label>
);

function Rows({ of }: { of: string }) {
  const now = useAtom(loaded);
  const sim = useAtom(simulated);
  const { step, pipeline } = useAtom(choice);
  const all = useAtom(allRows);
  const below = useAtom(under);
  const drawn = useAtom(form);
  const tables = now?.tables ?? sim?.reply?.tables ?? [];
  const tableOf = (name: string): ChartTable | undefined =>
    tables.find((table) => table.name === name);
  const found = tableOf(of);
  const isReplay = of === "PipelineReplay";
  const table = useMemo(() => {
    if (found === undefined) {
      return null;
    }
    const chosen = chosenRows(
      found,
      tableOf("PipelineBubble"),
      now?.chart ?? null,
      all || now === null ? null : step,
      all || now === null ? null : pipeline,
    );
    return isReplay ? withLeftOut(chosen, tableOf("PipelineNotReplayed")) : chosen;
  }, [found, step, pipeline, all]);
  const why = isReplay ? (now?.chart.unreplayed ?? "") : "";
  if (table === null) {
    return <Empty title={t("pipeline.no-table")}>{why !== "" && <p class="quiet">{why}</p>}</Empty>;
  }
  const isLeftOut = (row: TableRow): boolean => String(row.get(WHY) ?? "") !== "";
  const isMarked = (row: TableRow): boolean => {
    const to = replayOf(String(row.get("schedule") ?? ""));
    return (
      !isLeftOut(row) &&
      to.under === below &&
      (to.form === null || JSON.stringify(to.form) === JSON.stringify(drawn))
    );
  };
  const pick = (row: TableRow): void => {
    if (isLeftOut(row)) {
      return;
    }
    const to = replayOf(String(row.get("schedule") ?? ""));
    if (to.form !== null) {
      form.set(to.form);
    }
    under.set(to.under);
  };
  const several = found!.columns.some(([name]) => name === "step");
  return (
    <div class="pl-table">
      {several && <AllRows />}
      {isReplay && <p class="pl-all quiet">{t("pipeline.others-hint")}</p>}
      {why !== "" && <p class="pl-all quiet">{why}</p>}
      <LocalTable
        key={`${of} ${step} ${pipeline} ${all}`}
        table={table}
        {...(isReplay ? { onRow: pick, isMarked, sort: { column: "gain", desc: true } } : {})}
      />
    </div>
  );
}
