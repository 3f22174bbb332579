/** The page that stands alone: a chart with its controls, legend and tables. One App owns the choice; everything on screen
 * follows from it. */
import { el } from "../base/dom";
import { shareText } from "../base/format";
import type { Theme } from "../base/theme";
import { duration, fixed, percent } from "../base/time";
import { ChartView } from "./chart_view";
import type { Words } from "./details";
import type { Chart, Shapes, Shown, Table } from "./model";
import { byGain, legend, plainTable, stageTable } from "./panels";
import { bubbleShare, hasPhases, overlappedShare, pipelinesOf, unmarkedShare } from "./rows";
import type { Alike } from "./alike";
import { StageMap } from "./stage_map";
import { fill, longestText, speechOf, type Speech } from "./texts";

export interface PageData extends Words {
  /** "en", "zh" */
  lang: string;
  theme: { light: Theme; dark: Theme };
  shapes: Shapes;
  view: Shown;
  chart: Chart;
  against: Chart | null;
  tables: Table[];
  /** Pipelines that are alike stand as one; null: all are here. */
  alike: Alike | null;
}

const ZOOM_KEY = 1.5;

/** How many ranks there are, and how near those that have no row are to one that has. */
function alikeFacts({ ranks, pipelines, near, leftOut }: Alike, many: Speech["many"]): string[] {
  const facts = [fill(many.facts, ranks, pipelines, fixed(100 * near, 0))];
  return leftOut > 0 ? [...facts, fill(many.leftOut, leftOut)] : facts;
}

export class App {
  private readonly view: ChartView;
  private theme: Theme;
  private step: number | null;
  /** null: all that are here. */
  private pipeline: number | null;
  private byPhase: boolean;
  private readonly title = el("h1");
  private readonly facts = el("p", { class: "facts" });
  private readonly below = el("div", { class: "below" });
  private readonly stepPicker = el("select", { "aria-label": "step" });
  private readonly pipelinePicker = el("select", { "aria-label": "pipeline" });
  private readonly stageMap: StageMap | null;
  private readonly themeButton = el("button", { type: "button" });
  private readonly speech: Speech;

  constructor(
    private readonly root: HTMLElement,
    private readonly data: PageData,
  ) {
    this.speech = speechOf(data.lang);
    this.themeButton.title = this.speech.page.themeTitle;
    this.step = data.view.step;
    this.pipeline = data.view.pipeline;
    this.byPhase = hasPhases(data.chart);
    this.theme = data.theme.light;
    const chart = el("div");
    this.stageMap =
      data.alike === null
        ? null
        : new StageMap(data.alike, this.speech, (shown) => this.setPipeline(shown));
    this.build(chart);
    this.view = new ChartView(chart, {
      words: data,
      texts: this.speech.texts,
      shapes: data.shapes,
      scroller: null,
      pipelineText: (pipeline) => this.headingOf(pipeline),
      zoomsOnDouble: true,
      columns: [
        {
          head: this.speech.texts.busy,
          width: 56,
          cell: (row) => shareText(row.busyNs / row.windowNs),
        },
      ],
    });
    this.setTheme(null);
    this.listen();
    this.choose();
  }

  // --- building -------------------------------------------------------------------------------------------------

  private build(chartRoot: HTMLElement): void {
    const { chart } = this.data;
    this.title.textContent = chart.title !== "" ? chart.title : this.speech.texts.chart;
    const { page } = this.speech;
    const controls = el("div", { class: "controls" });
    const steps = chart.steps;
    if (steps.length > 1) {
      this.stepPicker.append(...steps.map((s) => el("option", { value: String(s) }, String(s))));
      this.stepPicker.append(el("option", { value: "all" }, page.all));
      this.stepPicker.value = String(this.step);
      this.stepPicker.addEventListener("change", () => this.setStep(this.stepPicker.value));
      controls.append(el("label", {}, `${page.step} `, this.stepPicker));
    }
    const pipelines = pipelinesOf(chart);
    if (pipelines.length > 1) {
      const picker = this.pipelinePicker;
      picker.append(...pipelines.map((p) => el("option", { value: String(p) }, this.choiceOf(p))));
      if (this.data.alike !== null) {
        picker.append(el("option", { value: "all" }, page.all));
      }
      picker.value = String(this.pipeline);
      picker.addEventListener("change", () =>
        this.setPipeline(picker.value === "all" ? null : Number(picker.value)),
      );
      controls.append(el("label", {}, `${page.pipeline} `, picker));
    }
    if (this.byPhase) {
      const picker = el(
        "select",
        { "aria-label": page.colour },
        el("option", { value: "phase" }, page.phase),
        el("option", { value: "kind" }, page.kind),
      );
      picker.addEventListener("change", () => {
        this.byPhase = picker.value === "phase";
        this.choose(true);
      });
      controls.append(el("label", {}, page.colourBy, picker));
    }
    if (chart.links.n > 0) {
      const box = el("input", { type: "checkbox" });
      box.addEventListener("change", () => this.view.setArrows(box.checked));
      controls.append(el("label", { title: page.arrowsTitle }, box, page.arrows));
    }
    const button = (text: string, title: string, act: () => void): HTMLElement => {
      const b = el("button", { type: "button", title, "aria-label": title }, text);
      b.addEventListener("click", act);
      return b;
    };
    controls.append(
      el(
        "span",
        { class: "group" },
        button("\u2212", page.zoomOut, () => this.view.zoom(1 / ZOOM_KEY)),
        button("+", page.zoomIn, () => this.view.zoom(ZOOM_KEY)),
        button(page.fit, page.fitTitle, () => this.view.fit()),
      ),
      this.themeButton,
    );
    this.themeButton.addEventListener("click", () => this.toggleTheme());
    this.root.append(
      el("header", {}, el("div", { class: "what" }, this.title, this.facts), controls),
      el("main", {}, this.stageMap?.element ?? null, chartRoot, this.below),
    );
  }

  private choiceOf(pipeline: number): string {
    const kind = this.data.alike?.shown.find((k) => k.pipeline === pipeline);
    return kind === undefined || kind.n === 1
      ? String(pipeline)
      : fill(this.speech.many.choice, pipeline, kind.n);
  }

  private headingOf(pipeline: number): string {
    const kind = this.data.alike?.shown.find((k) => k.pipeline === pipeline);
    return kind === undefined || kind.n === 1
      ? fill(this.speech.texts.pipeline, pipeline)
      : fill(this.speech.many.heading, pipeline, kind.n, kind.members);
  }

  /** Takes the choice of step, pipeline and colours. */
  private choose(keepWindow = false): void {
    const { chart, against } = this.data;
    this.view.set(
      chart,
      against,
      { pipeline: this.pipeline, step: this.step, byPhase: this.byPhase },
      this.theme,
      keepWindow,
    );
    this.stageMap?.show(this.step, this.theme);
    this.describe();
  }

  private setPipeline(pipeline: number | null): void {
    this.pipeline = pipeline;
    this.pipelinePicker.value = pipeline === null ? "all" : String(pipeline);
    this.choose();
  }

  private setStep(value: string): void {
    this.step = value === "all" ? null : Number(value);
    this.choose();
  }

  private describe(): void {
    const { chart } = this.data;
    const { page, texts } = this.speech;
    const { view } = this.view;
    const bubble = bubbleShare(view.rows);
    const unmarked = unmarkedShare(view.rows);
    const facts: string[] = [];
    const titled = chart.title.toLowerCase().includes(chart.schedule.toLowerCase());
    if (chart.how !== "") {
      facts.push(chart.schedule !== "" ? `${chart.schedule}, ${chart.how}` : chart.how);
    } else if (!titled) {
      facts.push(chart.schedule);
    }
    facts.push(
      this.step === null ? fill(page.allSteps, chart.steps.length) : fill(page.oneStep, this.step),
    );
    if (this.data.alike !== null) {
      facts.push(...alikeFacts(this.data.alike, this.speech.many));
    }
    if (this.pipeline === null) {
      facts.push(page.allPipelines);
    } else if (this.data.alike !== null || pipelinesOf(chart).length > 1) {
      const why = longestText(this.data.view.longest, this.step, this.pipeline, texts);
      facts.push(this.headingOf(this.pipeline) + why);
    }
    const overlapped = overlappedShare(view.rows);
    facts.push(duration(view.windowNs));
    if (overlapped > 0) {
      facts.push(fill(texts.overlapped, percent(overlapped)));
    }
    facts.push(
      bubble === null
        ? page.untold
        : unmarked > 0
          ? fill(this.speech.texts.bubbleUnmarked, percent(bubble), percent(unmarked))
          : fill(page.bubble, percent(bubble)),
    );
    if (view.theoryShare !== null) {
      facts.push(
        fill(page.theoryBubble, this.data.against?.schedule ?? "", percent(1 - view.theoryShare)),
      );
    }
    if (chart.untold !== "") {
      facts.push(chart.untold);
    }
    if (chart.unreplayed !== "") {
      facts.push(chart.unreplayed);
    }
    facts.push(...chart.notes);
    this.facts.textContent = facts.join(" \u00b7 ");
    this.view.setLabel(`${texts.chart}: ${facts.join(", ")}`);
    this.below.replaceChildren(
      legend(
        this.data.chart,
        this.data.against,
        view,
        this.data,
        this.speech.texts,
        this.theme,
        this.data.shapes,
      ),
      el("p", { class: "hint" }, page.hint),
      el(
        "section",
        { class: "panel" },
        el("h2", {}, page.stages),
        el(
          "div",
          { class: "scroll" },
          stageTable(view, this.data, this.speech.texts, this.theme, this.data.shapes),
        ),
      ),
      ...this.data.tables.map((table) => plainTable(byGain(table))),
    );
  }

  // --- theme ----------------------------------------------------------------------------------------------------

  private isDark(): boolean {
    const set = document.documentElement.dataset.theme;
    return set !== undefined ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  private setTheme(name: "light" | "dark" | null): void {
    if (name !== null) {
      document.documentElement.dataset.theme = name;
    }
    this.theme = this.data.theme[this.isDark() ? "dark" : "light"];
    const { light, dark } = this.speech.page;
    this.themeButton.textContent = this.isDark() ? light : dark;
  }

  private toggleTheme(): void {
    this.setTheme(this.isDark() ? "light" : "dark");
    this.showTheme();
  }

  private showTheme(): void {
    this.view.setTheme(this.theme);
    this.stageMap?.show(this.step, this.theme);
    this.describe();
  }

  // --- input ----------------------------------------------------------------------------------------------------

  private listen(): void {
    document.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.setTheme(null);
      this.showTheme();
    });
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement | null;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      (target !== null && /^(SELECT|INPUT|TEXTAREA)$/.test(target.tagName))
    ) {
      return;
    }
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.view.panBy(-1 / 8),
      ArrowRight: () => this.view.panBy(1 / 8),
      "+": () => this.view.zoom(ZOOM_KEY),
      "=": () => this.view.zoom(ZOOM_KEY),
      "-": () => this.view.zoom(1 / ZOOM_KEY),
      "0": () => this.view.fit(),
      t: () => this.toggleTheme(),
      "[": () => this.stepBy(-1),
      "]": () => this.stepBy(1),
      Escape: () => this.view.pin(null),
    };
    const act = actions[event.key];
    if (act !== undefined) {
      event.preventDefault();
      act();
    }
  }

  private stepBy(by: number): void {
    const steps = this.data.chart.steps;
    const next = this.step === null ? undefined : steps[steps.indexOf(this.step) + by];
    if (next !== undefined) {
      this.stepPicker.value = String(next);
      this.setStep(String(next));
    }
  }
}
