// The news of the runs on a page, handed to the charts that show them.

import { follow } from "../api/live.ts";
import { ended, type Point, type Run } from "../api/types.ts";

export interface Listener {
  points: (run: string, points: readonly Point[]) => void;
  reset: (run: string) => void;
}

export class LiveFeed {
  private readonly listeners = new Map<string, Set<Listener>>(); // by key
  private readonly stops: (() => void)[];

  /** `changed`: a run has a new state, or a metric that no chart shows yet. */
  constructor(runs: readonly Run[], changed: (run: string) => void) {
    const known = new Map(runs.map((run) => [run.id, new Set(Object.keys(run.metrics))]));
    this.stops = runs
      .filter((run) => !ended(run.state))
      .map((run) =>
        follow(run.id, {
          points: (keys) => {
            for (const [key, points] of keys) {
              if (!known.get(run.id)!.has(key)) {
                known.get(run.id)!.add(key);
                changed(run.id);
              }
              for (const listener of this.listeners.get(key) ?? []) listener.points(run.id, points);
            }
          },
          state: () => changed(run.id),
          reset: () => {
            changed(run.id);
            for (const all of this.listeners.values()) for (const listener of all) listener.reset(run.id);
          },
        }),
      );
  }

  listen(key: string, listener: Listener): () => void {
    const all = this.listeners.get(key) ?? new Set();
    this.listeners.set(key, all.add(listener));
    return () => all.delete(listener);
  }

  stop(): void {
    for (const stop of this.stops) stop();
  }
}
