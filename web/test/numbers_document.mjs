// Tables of the page as they stand in the document: what they are of, their columns and the texts of their cells.

/** Rows of one table at most: the first half of them and the last. */
export const MOST_ROWS = 200;
/** Of these all rows, the first time that one of them has more: what is drawn where somebody scrolls to is not what is drawn at the ends.
 * NUMBERS_WHOLE=1: of all tables, each time, which takes minutes. */
const WHOLE =
  /[?&]name=(operator_details|kernel_details|communication_operators)\b|^(links|PipelinePath)$/;
const wasWhole = new Set();

/** Runs in the page. Opens what is closed of a tree and scrolls the rows through. */
async function read(section, most) {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const grid = section.querySelector("[role=grid], [role=treegrid]");
  const columns = [...section.querySelectorAll("[role=columnheader]")].map((head) => ({
    name: head.dataset.column,
    unit: head.dataset.unit,
    shown: head.querySelector(".head-unit")?.textContent ?? "",
    isNumber: head.classList.contains("num"),
  }));
  const rows = () => [...grid.querySelectorAll(".grid-row")];
  const isThere = () =>
    grid.getAttribute("aria-busy") !== "true" &&
    (grid.getAttribute("aria-rowcount") === "1" ||
      (rows().length > 0 &&
        !rows().some((row) => row.textContent.includes("\u2026") && isLoading(row))));
  const isLoading = (row) =>
    [...row.querySelectorAll("[role=gridcell]")].every((cell) => cell.textContent === "\u2026");
  const settled = async () => {
    for (let i = 0; i < 2000; i++) {
      await frame();
      if (isThere()) {
        return;
      }
    }
    throw new Error("rows do not come");
  };
  const openAll = async () => {
    for (;;) {
      const closed = grid.querySelectorAll(".grid-row[aria-expanded=false] [role=gridcell] button");
      if (closed.length === 0) {
        return;
      }
      // All at once: each knows which row it was drawn for.
      for (const button of closed) {
        button.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
      }
      await settled();
    }
  };
  const found = new Map();
  const headPx = section.querySelector(".grid-top").offsetHeight;
  const view = () => Math.max(24, grid.clientHeight - headPx - 30);
  const take = async () => {
    await settled();
    await openAll();
    for (const row of rows()) {
      const cells = [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent);
      found.set(Number(row.getAttribute("aria-rowindex")) - 2, cells);
    }
  };
  const through = async (from, half) => {
    grid.scrollTop = from;
    for (let before = -1; grid.scrollTop !== before && found.size < half;) {
      await take();
      before = grid.scrollTop;
      grid.scrollTop += view();
    }
  };
  await settled();
  const drawn = rows().length;
  await through(0, most / 2);
  await take();
  const total = () => Number(grid.getAttribute("aria-rowcount")) - 1;
  if (found.size < total()) {
    const rowPx = rows()[0].offsetHeight;
    await through(Math.max(grid.scrollTop, grid.scrollHeight - (most / 2) * rowPx), most);
    await take();
  }
  grid.scrollTop = 0;
  // Of a long tree what lies between is as closed as it was.
  const isPart = grid.matches("[role=treegrid]") && found.size < total();
  return { of: section.dataset.table, columns, total: total(), isPart, drawn, rows: [...found] };
}

/** All tables that are seen, of a dialog those in it. */
export async function tablesOf(page) {
  const mostOf = async (section) => {
    const [kind, total] = await section.evaluate((e) => [
      e.dataset.table,
      Number(e.querySelector("[aria-rowcount]").getAttribute("aria-rowcount")) - 1,
    ]);
    const name = WHOLE.exec(kind)
      ?.slice(1)
      .find((found) => found !== undefined);
    if (process.env.NUMBERS_WHOLE) {
      return Infinity;
    }
    if (name === undefined || total <= MOST_ROWS || wasWhole.has(name)) {
      return MOST_ROWS;
    }
    wasWhole.add(name);
    return total + 1;
  };
  const dialog = page.locator("dialog[open]");
  const within = (await dialog.count()) > 0 ? dialog : page;
  const sections = await within.locator("section.table").elementHandles();
  const out = [];
  for (const section of sections) {
    if (await section.isVisible()) {
      out.push(await section.evaluate(read, await mostOf(section)));
    }
  }
  return out;
}

/** Tables that are no lists of data: fields of a slice (numbers_headlines.mjs), marks that the user made, tips. */
const OTHER_TABLES = ".fields, .markers table, .hover-tip table, .code table";

/** Tables that are seen and of which nobody knows what they are of. */
export const strangeTables = (page) =>
  page.evaluate(
    (known) =>
      [...document.querySelectorAll("table, [role=grid], [role=treegrid]")]
        .filter(
          (t) => t.checkVisibility() && !t.matches(known) && t.closest("[data-table]") === null,
        )
        .map((t) => t.outerHTML.slice(0, 120)),
    OTHER_TABLES,
  );
