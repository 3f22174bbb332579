/** Starts the viewer. */
import { render } from "preact";
import { takeToken } from "../api/client";
import { lendToken } from "../api/other_tabs";
import { followLook } from "../model/look";
import { connection, start } from "../model/session";
import { followLanguage } from "../words";
import { dispatch } from "../model/commands";
import { Frame } from "./frame";
import { baselineUrl } from "../model/baseline";
import { jobUrl } from "../pages/job_state";
import { tableStates, tableUrl } from "../panels/table_state";
import { followAddress, registerUrl, urlChanged } from "../model/url_state";
import { followViews } from "../model/views";
import "./viewer.css";
import "./frame.css";
import "../pages/pages.css";

takeToken();
lendToken(() => connection.get() === "ok");
followLook();
followLanguage();
followAddress();
followViews();
registerUrl(tableUrl);
registerUrl(jobUrl);
registerUrl(baselineUrl);
tableStates.listen(urlChanged);
addEventListener("hashchange", () => {
  if (takeToken() && connection.get() !== "ok") {
    void start();
  }
});
addEventListener("keydown", dispatch);
const root = document.getElementById("app");
if (root !== null) {
  render(<Frame />, root);
  void start();
}
