/** Which data the pages of pipelines look at, and what the user says of the job. It outlives the pages; the address holds it. */
import { Atom } from "../base/atom";
import { firstCapture, isOpen, openCaptures } from "../model/captures";
import { session } from "../model/session";
import type { UrlPart } from "../model/url_state";

/** What the user says of the job; not there: as found. */
export type Job = Readonly<Record<string, string>>;
export const JOB_FIELDS = [
  "pp",
  "tp",
  "cp",
  "dp",
  "order",
  "pp_type",
  "microbatches",
  "forward_re",
  "backward_re",
  "microbatch_re",
  "align",
] as const;
const JOB_TEXTS: ReadonlySet<string> = new Set([
  "order",
  "pp_type",
  "forward_re",
  "backward_re",
  "microbatch_re",
]);

export const cluster = new Atom(0);
export const job = new Atom<Job>({});

/** What was looked at is closed: the first that is open comes in its place. */
session.listen(() => {
  const opened = session.get();
  if (opened !== null && !isOpen(opened, cluster.get())) {
    cluster.set(firstCapture(opened));
  }
});

export const jobParams = (): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(job.get()).map(([k, v]) => [
      k,
      k === "align" ? true : JOB_TEXTS.has(k) ? v : Number(v),
    ]),
  );

/** Which of several captures is the first, others may see otherwise. */
const isChosen = (): boolean => cluster.get() > 0 || openCaptures(session.get()).length > 1;

export const jobUrl: UrlPart = {
  prefix: "job",
  read: () => ({ ...(isChosen() ? { cluster: String(cluster.get()) } : {}), ...job.get() }),
  write: (state) => {
    const said: Record<string, string> = {};
    for (const key of JOB_FIELDS) {
      const value = state[key];
      if (value !== undefined && value !== "") {
        said[key] = value;
      }
    }
    if (JSON.stringify(said) !== JSON.stringify(job.get())) {
      job.set(said);
    }
    const number = Number(state.cluster);
    cluster.set(Number.isInteger(number) && number >= 0 ? number : 0);
  },
};
