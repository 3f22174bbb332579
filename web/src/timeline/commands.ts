/** Keys of the timeline (viewer.md 2.3), and what else the palette offers. */
import type { Command } from "../model/commands";
import { pipelineRows, pipelineShown } from "../model/pipeline_rows";
import { box, boxLocked, loadAll, selected } from "../model/session";
import {
  baseSlice,
  rowsMode,
  showInstants,
  undoZoom,
  resetWindow,
  zoomHistory,
} from "../model/timeline";
import { tree } from "../model/tree";
import { fail } from "../model/notices";
import { areRanksWaiting, ZOOM_KEY, type Actions } from "./actions";
import { saveTrace } from "./save_trace";

export function timelineCommands(actions: Actions): Command[] {
  const ofSlice = {
    isOff: (): boolean => selected.get() === null,
    needs: "palette.needs-slice",
  } as const;
  const noBase = (): boolean => baseSlice.get() === null;
  const ofBoth = {
    isOff: (): boolean => noBase() || selected.get() === null,
    needs: "palette.needs-both",
    keySays: "timeline.align-none",
  } as const;
  return [
    {
      id: "timeline.zoom-in",
      word: "timeline.zoom-in",
      keys: ["w", "+", "="],
      run: () => actions.zoom(ZOOM_KEY),
      repeats: true,
    },
    {
      id: "timeline.zoom-out",
      word: "timeline.zoom-out",
      keys: ["s", "-"],
      run: () => actions.zoom(1 / ZOOM_KEY),
      repeats: true,
    },
    {
      id: "timeline.left",
      word: "timeline.left",
      keys: ["a", "ArrowLeft", "Shift+ArrowLeft"],
      run: () => actions.pan(-1),
      repeats: true,
    },
    {
      id: "timeline.right",
      word: "timeline.right",
      keys: ["d", "ArrowRight", "Shift+ArrowRight"],
      run: () => actions.pan(1),
      repeats: true,
    },
    {
      id: "timeline.up",
      word: "timeline.up",
      keys: ["ArrowUp"],
      run: () => actions.scroll(-1),
      repeats: true,
    },
    {
      id: "timeline.down",
      word: "timeline.down",
      keys: ["ArrowDown"],
      run: () => actions.scroll(1),
      repeats: true,
    },
    {
      id: "timeline.undo",
      word: "timeline.undo",
      keys: ["Backspace"],
      run: undoZoom,
      repeats: true,
      isOff: () => zoomHistory.n === 0,
      needs: "palette.needs-no-window",
    },
    { id: "timeline.reset", word: "timeline.reset", keys: ["Ctrl+0"], run: resetWindow },
    {
      id: "timeline.zoom-box",
      word: "timeline.zoom-box",
      keys: ["Shift+Z"],
      run: () => actions.zoomToBox(),
    },
    {
      id: "timeline.slice-box",
      word: "timeline.slice-box",
      keys: ["m"],
      run: () => actions.toggleSliceBox(),
    },
    {
      id: "timeline.marker",
      word: "timeline.marker",
      keys: ["k", "Shift+K"],
      run: () => actions.toggleMarker(),
    },
    {
      id: "timeline.align-start",
      word: "timeline.align-start",
      keys: ["l"],
      run: () => actions.align(false),
      ...ofBoth,
    },
    {
      id: "timeline.align-end",
      word: "timeline.align-end",
      keys: ["r"],
      run: () => actions.align(true),
      ...ofBoth,
    },
    {
      id: "timeline.toggle-pipeline",
      word: "timeline.toggle-pipeline",
      keys: [],
      run: () => pipelineShown.update((now) => !now),
      isOff: () => pipelineRows.get().length === 0,
      needs: "palette.needs-pipeline",
    },
    {
      id: "timeline.lock",
      word: "timeline.lock",
      keys: ["Shift+L"],
      run: () => boxLocked.update((now) => !now),
      isOff: () => box.get() === null,
      needs: "palette.needs-box",
    },
    {
      id: "timeline.rows-mode",
      word: "timeline.rows-mode",
      keys: ["Shift+R"],
      run: () => rowsMode.update((now) => !now),
    },
    {
      id: "timeline.analyse",
      word: "timeline.analyse",
      keys: ["Shift+T"],
      run: () => actions.analyse(box.get() ?? actions.selectedSpan()),
    },
    {
      id: "timeline.to-pipeline",
      word: "timeline.to-pipeline",
      keys: ["Shift+P"],
      run: () => actions.toPipeline(),
      isOff: () => selected.get() === null && box.get() === null,
      needs: "palette.needs-span",
    },
    {
      id: "timeline.save-trace",
      word: "timeline.save-trace",
      keys: [],
      run: () => void saveTrace(),
    },
    {
      id: "timeline.next",
      word: "timeline.next",
      keys: [".", "Alt+ArrowRight"],
      run: () => void actions.go("next"),
      repeats: true,
      ...ofSlice,
    },
    {
      id: "timeline.previous",
      word: "timeline.previous",
      keys: [",", "Alt+ArrowLeft"],
      run: () => void actions.go("previous"),
      repeats: true,
      ...ofSlice,
    },
    {
      id: "timeline.next-same",
      word: "timeline.next-same",
      keys: [">", "Shift+>", "Alt+Shift+ArrowRight"],
      run: () => void actions.go("next-same"),
      repeats: true,
      ...ofSlice,
    },
    {
      id: "timeline.previous-same",
      word: "timeline.previous-same",
      keys: ["<", "Shift+<", "Alt+Shift+ArrowLeft"],
      run: () => void actions.go("previous-same"),
      repeats: true,
      ...ofSlice,
    },
    {
      id: "timeline.parent",
      word: "timeline.parent",
      keys: ["Alt+ArrowUp"],
      run: () => void actions.go("parent"),
      ...ofSlice,
    },
    {
      id: "timeline.child",
      word: "timeline.child",
      keys: ["Alt+ArrowDown"],
      run: () => void actions.go("child"),
      ...ofSlice,
    },
    {
      id: "timeline.fit-slice",
      word: "timeline.fit-slice",
      keys: ["f"],
      run: () => {
        const ref = selected.get();
        if (ref !== null) {
          actions.fitTo(ref);
        }
      },
      ...ofSlice,
    },
    { id: "timeline.clear", word: "timeline.clear", keys: ["Escape"], run: () => actions.clear() },
    {
      id: "timeline.base",
      word: "timeline.base",
      keys: [],
      run: () => {
        const ref = selected.get();
        if (ref !== null) {
          actions.setBase(ref);
        }
      },
      ...ofSlice,
    },
    {
      id: "timeline.base-clear",
      word: "timeline.base-clear",
      keys: [],
      run: () => baseSlice.set(null),
      isOff: noBase,
      needs: "palette.needs-base",
    },
    {
      id: "timeline.recover",
      word: "timeline.recover",
      keys: [],
      run: () => actions.recoverOffsets(),
    },
    {
      id: "timeline.align-clock",
      word: "timeline.align-clock",
      keys: [],
      run: () => void actions.alignAll("clock"),
    },
    {
      id: "timeline.align-starts",
      word: "timeline.align-starts",
      keys: [],
      run: () => void actions.alignAll("start"),
    },
    {
      id: "timeline.align-steps",
      word: "timeline.align-steps",
      keys: [],
      run: () => void actions.alignAll("steps"),
    },
    {
      id: "timeline.open-all",
      word: "timeline.open-all",
      keys: [],
      run: () => actions.openAll(null, true),
    },
    {
      id: "timeline.close-all",
      word: "timeline.close-all",
      keys: [],
      run: () => actions.openAll(null, false),
    },
    {
      id: "timeline.auto-all",
      word: "timeline.auto-all",
      keys: [],
      run: () => actions.change(() => (tree.isAutoAll = !tree.isAutoAll)),
    },
    {
      id: "timeline.show-hidden",
      word: "timeline.show-hidden",
      keys: [],
      run: () => actions.change(() => tree.show(null)),
      isOff: () => tree.hidden.size === 0,
      needs: "palette.needs-hidden",
    },
    {
      id: "timeline.unpin-all",
      word: "timeline.unpin-all",
      keys: [],
      run: () => actions.change(() => tree.unpin(null)),
      isOff: () => tree.pinned.length === 0,
      needs: "palette.needs-pinned",
    },
    {
      id: "timeline.instants",
      word: "timeline.instants",
      keys: [],
      run: () => showInstants.update((now) => !now),
    },
    {
      id: "timeline.read-all",
      word: "timeline.read-all",
      keys: [],
      run: () => void loadAll().catch(fail),
      isOff: () => !areRanksWaiting(),
      needs: "palette.needs-waiting",
    },
  ];
}
