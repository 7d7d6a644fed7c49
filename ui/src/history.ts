// The states that a run has gone through. Pure.

import { ended, type RunDetail, type State } from "./api/types.ts";

export interface Stay {
  state: State;
  from: number; // ms since 1970
  until: number; // NaN: it is over and stays so
  reason: string;
}

/** Whether it came by the queue: only the queue lets runs wait. */
export function wasQueued(run: RunDetail): boolean {
  return run.transitions[0]?.to === "PENDING";
}

export function stays(run: RunDetail, now: number): Stay[] {
  const starts = run.transitions;
  return starts.map(({ time, to, reason }, i) => ({ state: to, from: time, until: starts[i + 1]?.time ?? (ended(to) ? NaN : now), reason }));
}
