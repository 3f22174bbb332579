/** The line at the bottom: what was used of the capture, what is missing, and whether the server is there. */
import { useAtom } from "../base/atom";
import { bytesText, grouped } from "../base/format";
import { loadingOf, missingOf, odditiesOf } from "../model/notes";
import { connection, loadAll, ranks, session } from "../model/session";
import { fail } from "../model/notices";
import { t } from "../words";
import { over } from "./over";

export function StatusLine() {
  const known = useAtom(ranks);
  const state = useAtom(connection);
  const opened = useAtom(session);
  const loading = loadingOf(known);
  const ready = known.filter((r) => r.state === "ready");
  const formats = [...new Set(known.map((r) => r.format))].filter((f) => f !== "");
  const slices = ready.reduce((sum, r) => sum + (r.slices ?? 0), 0);
  const memory = ready.reduce(
    (sum, r) => sum + Object.values(r.bytes ?? {}).reduce((a, b) => a + b, 0),
    0,
  );
  const missing = missingOf(known);
  const odd = odditiesOf(known, opened);
  return (
    <footer class="status">
      {state === "ok" ? null : (
        <span
          class="status-bad"
          role="alert"
          title={state === "lost" ? t("gate.again") : undefined}
        >
          {t(state === "denied" ? "gate.denied" : "gate.lost")}
        </span>
      )}
      <span>{formats.join(", ")}</span>
      {loading.active > 0 && (
        <span>{t("frame.reading", loading.active, Math.floor(loading.progress * 100))}</span>
      )}
      {loading.waiting > 0 && (
        <span>
          {t("frame.waiting", loading.waiting)}{" "}
          <button type="button" class="link" onClick={() => void loadAll().catch(fail)}>
            {t("frame.load-all")}
          </button>
        </span>
      )}
      {slices > 0 && <span>{t("frame.slices", grouped(String(slices)))}</span>}
      {memory > 0 && (
        <span title={t("frame.memory-title")}>{t("frame.memory", bytesText(memory))}</span>
      )}
      {missing.length > 0 && (
        <button type="button" class="link" onClick={() => over.set("notes")}>
          {t(
            "frame.missing",
            missing
              .slice(0, 3)
              .map((m) => m.what)
              .join(t("frame.comma")) + (missing.length > 3 ? " …" : ""),
          )}
        </button>
      )}
      {odd.length > 0 && (
        <button type="button" class="link" onClick={() => over.set("notes")}>
          {t("frame.odd", odd.length)}
        </button>
      )}
      <span class="fill" />
      <span class="quiet">{opened?.version}</span>
    </footer>
  );
}
