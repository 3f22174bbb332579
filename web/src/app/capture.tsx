/** What is open: every rank with its state; and what there is to say of the capture: what is missing and how to collect it, what
 * is odd, what failed. */
import { useState } from "preact/hooks";
import type { Rank, Table } from "../api/types";
import { useAtom } from "../base/atom";
import { bytesText, grouped } from "../base/format";
import { missingOf, odditiesOf, ranksText } from "../model/notes";
import { fail, notices } from "../model/notices";
import { load, loadAll, ranks, session } from "../model/session";
import { Dialog } from "../panels/dialog";
import { LocalTable } from "../panels/table";
import { rankWord, t } from "../words";
import { Captures, OpenAnother } from "./captures";

const bytesOf = (rank: Rank): number => Object.values(rank.bytes ?? {}).reduce((a, b) => a + b, 0);

function tableOf(known: readonly Rank[]): Table {
  const hosts = new Set(known.map((r) => r.host));
  return {
    name: "ranks",
    title: "",
    columns: [
      ["Rank", "int", "", false],
      ["Label", "text", "", false],
      ...(hosts.size > 1 ? [["Host", "text", "", false] as Table["columns"][0]] : []),
      ["State", "text", "", false],
      ["Progress", "real", "%", false],
      ["Format", "text", "", false],
      ["Profiler", "text", "", false],
      ["Slices", "int", "", false],
      ["Steps", "int", "", false],
      ["Span", "int", "ns", false],
      ["Memory", "int", "bytes", false],
      ["File", "text", "", false],
    ],
    total: known.length,
    offset: 0,
    rows: known.map((r) => [
      r.rank,
      rankWord(r.label),
      ...(hosts.size > 1 ? [r.host] : []),
      t(`state.${r.state}`),
      r.state === "ready" ? 100 : r.state === "reading" ? r.progress * 100 : null,
      r.format,
      r.profiler,
      r.slices ?? null,
      r.steps?.length ?? null,
      r.end === undefined || r.start === undefined ? null : r.end - r.start,
      r.bytes === undefined ? null : bytesOf(r),
      r.file,
    ]),
  };
}

export function CaptureDialog({ onClose }: { onClose: () => void }) {
  const known = useAtom(ranks);
  const opened = useAtom(session)!;
  const [label, setLabel] = useState<string | null>(
    known.length === 1 ? rankWord(known[0].label) : null,
  );
  const chosen = known.find((r) => rankWord(r.label) === label);
  return (
    <Dialog title={t("command.capture")} onClose={onClose} wide>
      <div class="stacked">
        <Captures opened={opened} />
        <OpenAnother />
        {known.some((r) => r.state === "waiting") && (
          <p>
            {t("frame.waiting", known.filter((r) => r.state === "waiting").length)}{" "}
            <button type="button" onClick={() => void loadAll().catch(fail)}>
              {t("frame.load-all")}
            </button>
          </p>
        )}
        <LocalTable
          table={tableOf(known)}
          title={t("frame.ranks-title")}
          name="ranks"
          maxRows={9}
          hidden={["Rank"]}
          onRow={(row) => setLabel(String(row.get("Label")))}
          isMarked={(row) => row.get("Label") === label}
        />
        {chosen === undefined ? (
          <p class="quiet">{t("frame.choose-rank")}</p>
        ) : (
          <RankDetail rank={chosen} />
        )}
      </div>
    </Dialog>
  );
}

function RankDetail({ rank }: { rank: Rank }) {
  const bytes = Object.entries(rank.bytes ?? {});
  return (
    <section class="stacked">
      <h3>{rankWord(rank.label)}</h3>
      <p class="mono break">{rank.file}</p>
      {rank.error !== "" && <p class="bad">{rank.error}</p>}
      {(rank.state === "waiting" || rank.state === "failed") && (
        <p>
          <button type="button" onClick={() => void load([rank.key]).catch(fail)}>
            {t(rank.state === "failed" ? "frame.retry" : "frame.load")}
          </button>
        </p>
      )}
      {bytes.length > 0 && (
        <p class="quiet">
          {t("frame.in-memory", bytes.map(([what, n]) => `${what} ${bytesText(n)}`).join(", "))}
        </p>
      )}
      {(rank.missing ?? []).map((m) => (
        <p>
          <b>{t("frame.missing", m.what)}</b> {m.remedy}
        </p>
      ))}
      {(rank.oddities ?? []).map((o) => (
        <p class="quiet">
          {o.text} ({grouped(String(o.n))})
        </p>
      ))}
    </section>
  );
}

export function NotesDialog({ onClose }: { onClose: () => void }) {
  const known = useAtom(ranks);
  const opened = useAtom(session);
  const said = useAtom(notices).filter((n) => n.severity !== "info");
  const missing = missingOf(known);
  const odd = odditiesOf(known, opened);
  const told = opened?.clusters.filter((c) => c.closed !== true).flatMap((c) => c.notes) ?? [];
  const failed = known.filter((r) => r.state === "failed");
  const of = (which: readonly Rank[]): string =>
    which.length === 0 || which.length === known.length
      ? t("frame.all-ranks")
      : t("frame.ranks-list", ranksText(which));
  return (
    <Dialog title={t("command.notes")} onClose={onClose}>
      <div class="stacked">
        {said.length + missing.length + told.length + odd.length + failed.length === 0 && (
          <p>{t("notes.none")}</p>
        )}
        {said.length > 0 && (
          <Section title={t("notes.failures")}>
            {said.map((n) => (
              <p class="bad">
                {n.text}
                {n.n > 1 ? ` ×${n.n}` : ""}
              </p>
            ))}
          </Section>
        )}
        {failed.length > 0 && (
          <Section title={t("notes.unread")}>
            {failed.map((r) => (
              <p>
                <b>{rankWord(r.label)}</b> <span class="bad">{r.error}</span>
              </p>
            ))}
          </Section>
        )}
        {missing.length > 0 && (
          <Section title={t("notes.missing")}>
            {missing.map((m) => (
              <div class="note-row">
                <p>
                  <b>{m.what}</b> <span class="quiet">{of(m.ranks)}</span>
                </p>
                <p>{m.remedy}</p>
              </div>
            ))}
          </Section>
        )}
        {odd.length + told.length > 0 && (
          <Section title={t("notes.odd")}>
            {told.map((note) => (
              <div class="note-row">
                <p>{note}</p>
              </div>
            ))}
            {odd.map((o) => (
              <div class="note-row">
                <p>
                  {o.text}{" "}
                  <span class="quiet">
                    {o.isCounted || o.n === 1 ? "" : `×${grouped(String(o.n))}, `}
                    {o.ranks.length === 0 ? "" : of(o.ranks)}
                  </span>
                </p>
                {o.places.length > 0 && <p class="quiet">{o.places.join("; ")}</p>}
              </div>
            ))}
          </Section>
        )}
      </div>
    </Dialog>
  );
}

function Section({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <section class="stacked">
      <h3>{title}</h3>
      {children}
    </section>
  );
}
