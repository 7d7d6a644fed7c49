// The runs that a search found, page by page, kept fresh while the page is looked at.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { runs as loadRuns } from "../api/tracking.ts";
import type { Run } from "../api/types.ts";

const firstPage = 200;
const nextPages = 2000;
const refreshMs = 5000;
const everyRunMax = 50_000;

export interface RunsList {
  rows: readonly Run[];
  more: boolean;
  loading: boolean;
  error: Error | undefined;
  loadMore: () => void;
  again: () => void;
}

const viewOf = (view: RunsView): "active" | "deleted" => (view === "deleted" ? "deleted" : "active");

/** All that are found, as far as somebody would want them in one file. */
export async function everyRun(experiment: string, filter: string, order: string, view: RunsView): Promise<Run[]> {
  const found: Run[] = [];
  for (let token = ""; ; ) {
    const page = await loadRuns({ experiment, filter, order, token, limit: nextPages, view: viewOf(view) });
    found.push(...page.items);
    token = page.next;
    if (!token || found.length >= everyRunMax) return found;
  }
}

/** New records of the first page over those that are there; what has moved out of it stays behind. */
export function refreshed(rows: readonly Run[], page: readonly Run[]): Run[] {
  const ids = new Set(page.map((run) => run.id));
  return [...page, ...rows.filter((run) => !ids.has(run.id))];
}

export type RunsView = "active" | "archived" | "deleted";

export function useRuns(experiment: string, filter: string, order: string, view: RunsView): RunsList {
  const [rows, setRows] = useState<readonly Run[]>([]);
  const [next, setNext] = useState("");
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<Error>();
  const [round, setRound] = useState(0);
  const busy = useRef(false);
  const abort = useRef(new AbortController());

  useEffect(() => {
    const controller = new AbortController();
    abort.current = controller;
    setLoading(true);
    busy.current = true;
    const query = { experiment, filter, order, token: "", limit: firstPage, view: viewOf(view) };
    loadRuns(query, controller.signal).then(
      (page) => {
        if (controller.signal.aborted) return;
        setRows(page.items);
        setNext(page.next);
        setError(undefined);
        setLoading(false);
        busy.current = false;
      },
      (caught: Error) => {
        if (controller.signal.aborted) return;
        setError(caught);
        setLoading(false);
        busy.current = false;
      },
    );
    const timer = setInterval(() => {
      if (document.hidden || busy.current) return;
      loadRuns(query, controller.signal).then(
        (page) => {
          if (controller.signal.aborted) return;
          setRows((before) => (page.next ? refreshed(before, page.items) : page.items));
          setError(undefined);
        },
        (caught: Error) => controller.signal.aborted || setError(caught),
      );
    }, refreshMs);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [experiment, filter, order, view, round]);

  const loadMore = useCallback(() => {
    if (busy.current || !next) return;
    busy.current = true;
    const { signal } = abort.current;
    loadRuns({ experiment, filter, order, token: next, limit: nextPages, view: viewOf(view) }, signal).then(
      (page) => {
        if (signal.aborted) return;
        setRows((before) => {
          const ids = new Set(before.map((run) => run.id));
          return [...before, ...page.items.filter((run) => !ids.has(run.id))];
        });
        setNext(page.next);
        busy.current = false;
      },
      (caught: Error) => {
        if (signal.aborted) return;
        setError(caught);
        busy.current = false;
      },
    );
  }, [experiment, filter, order, view, next]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  return { rows, more: next !== "", loading, error, loadMore, again };
}
