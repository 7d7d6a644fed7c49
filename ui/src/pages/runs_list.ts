// The runs that a search found, page by page, kept fresh while the page is looked at.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { runs as loadRuns } from "../api/tracking.ts";
import type { Run } from "../api/types.ts";

const firstPage = 200;
const nextPages = 2000;
const refreshMs = 5000;

export interface RunsList {
  rows: readonly Run[];
  more: boolean;
  loading: boolean;
  error: Error | undefined;
  loadMore: () => void;
  again: () => void;
}

/** New records of the first page over those that are there; what has moved out of it stays behind. */
export function refreshed(rows: readonly Run[], page: readonly Run[]): Run[] {
  const ids = new Set(page.map((run) => run.id));
  return [...page, ...rows.filter((run) => !ids.has(run.id))];
}

export function useRuns(experiment: string, filter: string, order: string): RunsList {
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
    const query = { experiment, filter, order, token: "", limit: firstPage };
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
  }, [experiment, filter, order, round]);

  const loadMore = useCallback(() => {
    if (busy.current || !next) return;
    busy.current = true;
    const { signal } = abort.current;
    loadRuns({ experiment, filter, order, token: next, limit: nextPages }, signal).then(
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
  }, [experiment, filter, order, next]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  return { rows, more: next !== "", loading, error, loadMore, again };
}
