// Words in the logs of several runs: which runs have them, and in which lines.

import { useState } from "preact/hooks";
import { log as loadLog } from "../api/folders.ts";
import type { Run } from "../api/types.ts";
import { ApiError } from "../api/client.ts";
import { appended, found, marked, plain, severity } from "../log_text.ts";
import { Empty, Failure, StateMark } from "../parts/basics.tsx";
import { useLoaded, useSettled } from "../parts/hooks.ts";
import { hashOf, replaceQuery, type Place } from "../router.ts";

const atOnce = 3; // requests
const bytesMax = 8 << 20; // of a log, from its end: what matters is said last
const bytesOfAllMax = 64 << 20;
const hitsMax = 50; // shown of a run

/** The end of a run's log, a MiB at a time; without it: nothing. */
async function endOfLog(run: string, most: number, signal: AbortSignal): Promise<{ lines: string[]; cut: boolean }> {
  let lines: string[] = [];
  let at = -most;
  let cut = false;
  for (;;) {
    let part;
    try {
      part = await loadLog(run, at, signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return { lines, cut };
      throw error;
    }
    if (at < 0) cut = part.from > 0;
    if (!part.text) break;
    lines = appended(lines, part.text);
    at = part.next;
  }
  return { lines: lines.map(plain), cut };
}

async function allLogs(runs: readonly Run[], signal: AbortSignal): Promise<{ lines: string[]; cut: boolean }[]> {
  const logs = new Array<{ lines: string[]; cut: boolean }>(runs.length);
  let next = 0;
  const work = async () => {
    while (next < runs.length) {
      const place = next++;
      logs[place] = await endOfLog(runs[place]!.id, Math.min(bytesMax, Math.floor(bytesOfAllMax / runs.length)), signal);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, runs.length) }, work));
  return logs;
}

export function Logs({ runs, place }: { runs: readonly Run[]; place: Place }) {
  const [wanted, setWanted] = useState(place.query.get("find") ?? "");
  const settled = useSettled(wanted, 250);
  const { value, error, again } = useLoaded((signal) => allLogs(runs, signal), [runs.map((run) => run.id).join(",")]);
  const hits = value?.map(({ lines }) => (settled ? found(lines, settled) : lines.flatMap((line, i) => (severity(line) === "error" ? [i] : []))));
  const total = hits?.reduce((sum, of) => sum + of.length, 0) ?? 0;
  return (
    <section class="logs">
      <div class="controls">
        <input id="filter" type="search" placeholder="find in all logs" aria-label="Find in all logs" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} onBlur={() => replaceQuery({ find: wanted })} />
        <span class="small" aria-live="polite">
          {!value ? "loading…" : `${total} ${total === 1 ? "line" : "lines"} in ${hits!.filter((of) => of.length > 0).length} of ${runs.length} runs${settled ? "" : ", errors"}`}
        </span>
      </div>
      <Failure error={error} again={again} />
      {value && total === 0 && <Empty>{settled ? "No log has that." : "No log speaks of an error."}</Empty>}
      {value?.map(({ lines, cut }, i) => {
        const run = runs[i]!;
        const of = hits![i]!;
        if (of.length === 0) return null;
        return (
          <section key={run.id} class="card" aria-label={`Log of ${run.name}`}>
            <header>
              <h2>
                <a href={hashOf(["runs", run.id], { tab: "log" })}>{run.name}</a> <StateMark state={run.state} short /> <small>{of.length}{of.length > hitsMax ? `, the last ${hitsMax}` : ""}{cut ? ", in its last part" : ""}</small>
              </h2>
            </header>
            <pre class="code hits" tabIndex={0}>
              {of.slice(-hitsMax).map((line) => (
                <div key={line} class={severity(lines[line]!)}>
                  {marked(lines[line]!.slice(0, 2000), settled).map((part, k) => (part.hit ? <mark key={k}>{part.text}</mark> : part.text))}
                </div>
              ))}
            </pre>
          </section>
        );
      })}
    </section>
  );
}
