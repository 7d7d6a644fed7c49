// A change that a button asks for: one at a time, with its failure shown.

import type { ComponentChildren } from "preact";
import { useCallback, useState } from "preact/hooks";
import { Failure } from "./basics.tsx";

export function useAction(done: () => void): { act: (action: () => Promise<unknown>) => void; busy: boolean; shown: ComponentChildren } {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const act = useCallback(
    (action: () => Promise<unknown>) => {
      setBusy(true);
      action()
        .then(
          () => {
            setError(undefined);
            done();
          },
          (caught: Error) => setError(caught),
        )
        .finally(() => setBusy(false));
    },
    [done],
  );
  return { act, busy, shown: <Failure error={error} /> };
}
