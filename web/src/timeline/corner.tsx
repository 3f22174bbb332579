/** Above the label column: what concerns all lanes. */
import { useAtom } from "../base/atom";
import { fail } from "../model/notices";
import { loadAll, ranks } from "../model/session";
import { touchTree, tree, treeChanged } from "../model/tree";
import { Menu } from "../panels/dialog";
import { Icon } from "../panels/icons";
import { language, t, type Word } from "../words";
import { areRanksWaiting, type Actions } from "./actions";

export function Corner({ actions }: { actions: Actions }) {
  useAtom(treeChanged);
  useAtom(language);
  const all = useAtom(ranks);
  const ready = all.filter((r) => r.state === "ready").length;
  const toggleAuto = (): void => {
    tree.isAutoAll = !tree.isAutoAll;
    touchTree();
  };
  return (
    <>
      <span class="tl-corner-text quiet">
        {ready < all.length ? t("timeline.ranks-read", ready, all.length) : ""}
      </span>
      <span class="tl-corner-tools">
        {areRanksWaiting() && (
          <Tool word="timeline.read-all" run={() => void loadAll().catch(fail)}>
            <Icon name="play" />
          </Tool>
        )}
        {all.length > 1 && <AlignMenu actions={actions} />}
        <Tool word="timeline.auto-all" isPressed={tree.isAutoAll} run={toggleAuto}>
          <AutoHeight />
        </Tool>
        <Tool word="timeline.open-all" run={() => actions.openAll(null, true)}>
          <Icon name="down" />
        </Tool>
        <Tool word="timeline.close-all" run={() => actions.openAll(null, false)}>
          <Icon name="right" />
        </Tool>
      </span>
    </>
  );
}

interface ToolProps {
  word: Word;
  isPressed?: boolean;
  run: () => void;
  children: preact.ComponentChildren;
}

function Tool({ word, isPressed, run, children }: ToolProps) {
  return (
    <button
      type="button"
      class="flat tiny"
      aria-pressed={isPressed}
      title={t(word)}
      aria-label={t(word)}
      onClick={run}
    >
      {children}
    </button>
  );
}

const ALIGNMENTS = [
  ["clock", "timeline.align-clock"],
  ["start", "timeline.align-starts"],
  ["steps", "timeline.align-steps"],
] as const;

function AlignMenu({ actions }: { actions: Actions }) {
  const item = (text: string, run: () => void) => (
    <button type="button" class="menu-item" onClick={run}>
      {text}
    </button>
  );
  return (
    <Menu label={t("timeline.align")} icon="columns" align="left" class="tiny">
      {(close) => [
        ...ALIGNMENTS.map(([by, word]) =>
          item(t(word), () => {
            close();
            void actions.alignAll(by);
          }),
        ),
        item(t("timeline.recover"), () => {
          close();
          actions.recoverOffsets();
        }),
      ]}
    </Menu>
  );
}

function AutoHeight() {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d="M3 2.500h10M3 13.500h10M8 5v6M6 6.500L8 4.500l2 2M6 9.500l2 2 2-2"
        fill="none"
        stroke="currentColor"
        stroke-width="1.250"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </svg>
  );
}
