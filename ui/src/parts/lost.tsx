// What the record of a run lacks, in words.

import type { Run } from "../api/types.ts";
import { lostInWords, lostSteps } from "../gaps.ts";

export function Lost({ runs }: { runs: readonly Run[] }) {
  return (
    <>
      {runs.map((run) => {
        const lost = lostSteps(run.tags);
        return (
          lost.length > 0 && (
            <p key={run.id} class="note warn">
              The record{runs.length > 1 ? ` of ${run.name}` : ""} has a gap: its lines of {lostInWords(lost)} are lost.
            </p>
          )
        );
      })}
    </>
  );
}
