/** What is seen before there is a session: how to get the address, or that the server is not there. */
import { keepToken } from "../api/client";
import { start, type Connection } from "../model/session";
import { Empty, Loading } from "../panels/empty";
import { t } from "../words";

export function Gate({ state }: { state: Connection }) {
  if (state === "no-token" || state === "denied") {
    return (
      <main class="gate">
        <Empty title={t(state === "denied" ? "gate.denied" : "gate.no-token")}>
          <p>{t("gate.how")}</p>
          <form
            class="controls-row"
            onSubmit={(e) => {
              e.preventDefault();
              keepToken(new FormData(e.currentTarget).get("token") as string);
              void start();
            }}
          >
            <label>
              {t("gate.token")}
              <input class="mono" name="token" type="password" required autocomplete="off" />
            </label>
            <button type="submit" class="primary">
              {t("captures.open")}
            </button>
          </form>
          <pre class="code mono">pipescope serve PATH{"\n"}http://127.0.0.1:8686/#token=…</pre>
          <p class="quiet">{t("gate.remote")}</p>
          <pre class="code mono">ssh -L 8686:127.0.0.1:8686 HOST</pre>
        </Empty>
      </main>
    );
  }
  return (
    <main class="gate">
      {state === "lost" ? (
        <Empty title={t("gate.lost")}>
          <p class="quiet">{t("gate.again")}</p>
        </Empty>
      ) : (
        <Loading />
      )}
    </main>
  );
}
