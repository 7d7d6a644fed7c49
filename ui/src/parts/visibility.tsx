// Who may read a thing: a word, and for its owner a switch.

import { mayChangeOf, setVisibility } from "../api/visibility.ts";
import type { Me, Visibility } from "../api/types.ts";
import { useAction } from "./action.tsx";

const titles: Record<Visibility, string> = {
  private: "its owner and admins may read it, of a run also who made it",
  shared: "everybody with a token may read it",
};

export function VisibilityMark({ visibility }: { visibility: Visibility }) {
  return (
    <span class={`chip visibility-${visibility}`} title={titles[visibility]}>
      {visibility}
    </span>
  );
}

export function VisibilitySwitch({ what, id, owner, visibility, me, changed }: { what: "experiments" | "models"; id: string; owner: string; visibility: Visibility; me: Me; changed: () => void }) {
  const { act, busy, shown } = useAction(changed);
  const other: Visibility = visibility === "shared" ? "private" : "shared";
  return (
    <span class="visibility">
      <VisibilityMark visibility={visibility} />
      {mayChangeOf(me, owner) && (
        <button type="button" class="quiet" disabled={busy} title={titles[other]} onClick={() => act(() => setVisibility(what, id, other))}>
          {other === "shared" ? "share with all" : "make private"}
        </button>
      )}
      {shown}
    </span>
  );
}
