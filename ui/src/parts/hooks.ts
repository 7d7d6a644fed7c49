// Small helpers around Preact's hooks.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<T> {
  value: T | undefined; // the last one that came, also while the next is on its way
  error: Error | undefined;
  loading: boolean;
  again: () => void;
}

/** What `load` gives, loaded anew when `inputs` change. What has been overtaken is cancelled. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value: T | undefined; error: Error | undefined; loading: boolean }>({ value: undefined, error: undefined, loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    load(abort.signal).then(
      (value) => !abort.signal.aborted && setState({ value, error: undefined, loading: false }),
      (error: Error) => !abort.signal.aborted && setState((before) => ({ value: before.value, error, loading: false })),
    );
    return () => abort.abort();
  }, [...inputs, round]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, again };
}

/** The size of an element as it is laid out, also of one that is there only later. */
export function useSize<E extends Element>(): { ref: { current: E | null }; width: number; height: number } {
  const ref = useRef<E>(null);
  const [element, setElement] = useState<E | null>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => setElement(ref.current));
  useEffect(() => {
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => entry && setSize({ width: entry.contentRect.width, height: entry.contentRect.height }));
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return { ref, ...size };
}

/** The time, anew every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** `value` once it has not changed for `ms`. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** A value kept in the browser from one visit to the next. */
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const key = `linac.${name}`;
  const [value, setValue] = useState<T>(() => {
    try {
      const kept = localStorage.getItem(key);
      return kept === null ? initial : (JSON.parse(kept) as T);
    } catch {
      return initial;
    }
  });
  const keep = useCallback(
    (next: T) => {
      setValue(next);
      try {
        localStorage.setItem(key, JSON.stringify(next));
      } catch {
        // it holds for this page then
      }
    },
    [key],
  );
  return [value, keep];
}
