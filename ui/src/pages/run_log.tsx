// The run's log: all of it, with search, following its end while the run goes on.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { log as loadLog } from "../api/folders.ts";
import { ended, type RunDetail } from "../api/types.ts";
import { ApiError } from "../api/client.ts";
import { appended, found, marked, plain, severity } from "../log_text.ts";
import { Empty, Failure } from "../parts/basics.tsx";

const linePx = 18;
const spare = 30;
const waitMs = 1500;

/** The lines so far; goes on asking while the run does. */
function useLog(run: RunDetail) {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [error, setError] = useState<Error>();
  const [loaded, setLoaded] = useState(false);
  const over = ended(run.state);
  const overNow = useRef(over);
  overNow.current = over;
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const read = async () => {
      let at = 0;
      let all: string[] = [];
      for (;;) {
        const wasOver = overNow.current;
        try {
          const part = await loadLog(run.id, at, signal);
          if (signal.aborted) return;
          if (part.text) {
            all = appended(all, part.text);
            setLines(all.map(plain));
          }
          at = part.next;
          setError(undefined);
          setLoaded(true);
          if (part.text) continue;
        } catch (caught) {
          if (signal.aborted) return;
          setLoaded(true);
          if (!(caught instanceof ApiError && caught.status === 404)) setError(caught as Error);
        }
        if (wasOver || signal.aborted) return;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    };
    void read();
    return () => abort.abort();
  }, [run.id]);
  return { lines, error, loaded };
}

export function LogTab({ run }: { run: RunDetail }) {
  const { lines, error, loaded } = useLog(run);
  const [wanted, setWanted] = useState("");
  const [hit, setHit] = useState(0);
  const [following, setFollowing] = useState(!ended(run.state));
  const [view, setView] = useState({ top: 0, height: 600 });
  const scroller = useRef<HTMLDivElement>(null);
  const hits = useMemo(() => found(lines, wanted), [lines, wanted]);
  const at = hits.length ? ((hit % hits.length) + hits.length) % hits.length : -1;

  useEffect(() => {
    if (following && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [lines, following]);
  useEffect(() => {
    if (at < 0 || !scroller.current) return;
    setFollowing(false);
    scroller.current.scrollTop = Math.max(0, hits[at]! * linePx - scroller.current.clientHeight / 2);
  }, [at, wanted]);
  // The browser may still hand out a scroll of a page that has just been left, when the reference is gone.
  const onScroll = (event: { currentTarget: HTMLDivElement }) => {
    const element = event.currentTarget;
    setView({ top: element.scrollTop, height: element.clientHeight });
    if (following && element.scrollTop + element.clientHeight < element.scrollHeight - 3 * linePx) setFollowing(false);
  };
  const first = Math.max(0, Math.floor(view.top / linePx) - spare);
  const end = Math.min(lines.length, Math.ceil((view.top + view.height) / linePx) + spare);
  return (
    <section class="log">
      <div class="controls">
        <input
          id="filter"
          type="search"
          placeholder="find in the log"
          aria-label="Find in the log"
          value={wanted}
          onInput={(event) => {
            setWanted(event.currentTarget.value);
            setHit(0);
          }}
          onKeyDown={(event) => event.key === "Enter" && setHit(at + (event.shiftKey ? -1 : 1))}
        />
        {wanted && (
          <>
            <output aria-live="polite">{hits.length ? `${at + 1} of ${hits.length}` : "nothing"}</output>
            <button type="button" aria-label="Previous" onClick={() => setHit(at - 1)}>
              ↑
            </button>
            <button type="button" aria-label="Next" onClick={() => setHit(at + 1)}>
              ↓
            </button>
          </>
        )}
        <label>
          <input type="checkbox" checked={following} onChange={(event) => setFollowing(event.currentTarget.checked)} /> follow
        </label>
        <span class="push small">{lines.length} lines</span>
      </div>
      <Failure error={error} />
      {loaded && lines.length === 0 && !error && <Empty>No log here{ended(run.state) ? "" : " yet"}.</Empty>}
      <div ref={scroller} class="lines" tabIndex={0} role="log" aria-live="off" aria-label="Log" onScroll={onScroll}>
        <div class="space" style={{ height: `${lines.length * linePx}px` }}>
          {lines.slice(first, end).map((line, i) => (
            <div key={first + i} class={`logline ${severity(line)} ${hits[at] === first + i ? "current" : ""}`} style={{ transform: `translateY(${(first + i) * linePx}px)` }}>
              {marked(line, wanted).map((part, k) => (part.hit ? <mark key={k}>{part.text}</mark> : part.text))}
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}
