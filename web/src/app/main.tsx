/** Starts the viewer. */
import { render } from "preact";
import { takeToken } from "../api/client";
import { start } from "../model/session";
import { dispatch } from "./commands";
import { Frame } from "./frame";
import "./viewer.css";

takeToken();
addEventListener("hashchange", takeToken);
addEventListener("keydown", dispatch);
const root = document.getElementById("app");
if (root !== null) {
  render(<Frame />, root);
  void start();
}
