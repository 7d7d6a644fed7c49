// Who worked on the run when, and on what: a bar a worker, with what happened to the run above.

import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { fileHref, files, readLines } from "../api/folders.ts";
import { ended, type RunDetail } from "../api/types.ts";
import { duration, time } from "../format.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useSize } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { activities, ticks, TimelineReader, type Activity, type Mark, type MarkKind, type Seconds, type Timeline, type Worker } from "../timeline.ts";

const refreshMs = 5000;
const firstWorkers = 64; // the others on demand
const tickPx = 90;
const tickWordsPx = 50;

const words: Record<Activity, string> = {
  compute: "compute, tests included",
  communication: "communication, as far as it is not hidden",
  input: "waiting for input",
  update: "update by the optimiser",
  record: "checkpoints and record",
  waiting: "in no phase: start, changes of the workers",
  unknown: "not known: after the last account",
};
const signs: Record<MarkKind, string> = { start: "▶", end: "■", loss: "✕", join: "+", recovery: "↻", checkpoint: "◆" };
const signWords: Record<MarkKind, string> = { start: "start", end: "end", loss: "worker lost", join: "worker joins", recovery: "recovery", checkpoint: "checkpoint" };

const stepOf = (path: string) => Number(/(?:^|\/)step-(\d+)\.safetensors$/.exec(path)?.[1] ?? NaN);

async function checkpointsOf(run: string, signal: AbortSignal): Promise<number[]> {
  const found = await files(run, "checkpoints", signal).catch(() => []);
  return found.map((file) => stepOf(file.path)).filter(Number.isFinite);
}

/** The timeline so far; goes on asking while the run does. */
function useTimeline(run: RunDetail) {
  const [timeline, setTimeline] = useState<Timeline>();
  const [error, setError] = useState<Error>();
  const over = ended(run.state);
  const attempts = run.transitions.length;
  // A run that resumes drops lines of its record: each change of its state reads them anew.
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const reader = new TimelineReader();
    const recoveries = run.transitions.filter((one) => one.to === "RECOVERING").map(({ time, reason }) => ({ time, reason }));
    let at = 0;
    let busy = false;
    const read = async () => {
      if (busy) return;
      busy = true;
      try {
        at = await readLines(fileHref(run.id, "metrics.jsonl"), at, (line) => reader.line(line), signal);
        const checkpoints = await checkpointsOf(run.id, signal);
        signal.throwIfAborted();
        setTimeline(reader.timeline({ checkpoints, recoveries }));
        setError(undefined);
      } catch (caught) {
        if (!signal.aborted) setError(caught as Error);
      }
      busy = false;
    };
    void read();
    const timer = over ? undefined : setInterval(() => document.hidden || void read(), refreshMs);
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [run.id, run.state, attempts]);
  return { timeline, error };
}

const percent = (part: number, whole: number) => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : "");
const sum = (seconds: Seconds) => activities.reduce((all, one) => all + seconds[one], 0);
const span = (seconds: number) => (seconds > 0 ? duration(seconds * 1000) : "0 s");
const nameOf = (worker: Worker) => `${worker.host} ${worker.pid}`;

function inWords(worker: Worker): string {
  const whole = sum(worker.total);
  const shares = activities.filter((one) => worker.total[one] > 0).map((one) => `${one} ${percent(worker.total[one], whole)}`);
  const end = worker.lost === null ? "" : `, lost${worker.lost ? `: ${worker.lost}` : ""}`;
  return `${nameOf(worker)}, rank ${worker.rank}, from ${span(worker.from)} to ${span(worker.until)}${end}; ${shares.join(", ") || "no account yet"}`;
}

/** A column for each stretch, shares on top of each other: x in seconds, y from 0 to 1. */
function Bar({ worker, seconds }: { worker: Worker; seconds: number }) {
  return (
    <svg viewBox={`0 0 ${seconds} 1`} preserveAspectRatio="none" aria-hidden="true">
      {worker.stretches.flatMap((stretch) => {
        const whole = sum(stretch.seconds);
        let top = 1;
        return activities.map((one) => {
          const share = whole > 0 ? stretch.seconds[one] / whole : 0;
          top -= share;
          return share > 0 && <rect key={`${stretch.from}${one}`} class={`does-${one}`} x={stretch.from} width={stretch.until - stretch.from} y={top} height={share} />;
        });
      })}
    </svg>
  );
}

const place = (at: number, seconds: number) => ({ left: `${seconds > 0 ? (100 * at) / seconds : 0}%` });

function Marks({ marks, seconds }: { marks: readonly Mark[]; seconds: number }) {
  return (
    <>
      {marks.map((mark, i) => (
        <i key={i} class={`mark mark-${mark.kind}`} style={place(mark.at, seconds)} title={`${mark.what}\n${time(mark.time)}`}>
          {signs[mark.kind]}
        </i>
      ))}
    </>
  );
}

function Chart({ timeline, shown }: { timeline: Timeline; shown: readonly Worker[] }) {
  const { ref, width } = useSize<HTMLDivElement>();
  const { seconds, marks, begins } = timeline;
  return (
    <div class="timeline">
      <div class="lane" aria-hidden="true">
        <span>what happened</span>
        <div class="track strip">
          <Marks marks={marks} seconds={seconds} />
        </div>
      </div>
      {shown.map((worker) => (
        <div key={`${worker.start} ${nameOf(worker)}`} class="lane" role="img" aria-label={inWords(worker)} title={inWords(worker)}>
          <span>
            {nameOf(worker)} <small>rank {worker.rank}</small>
          </span>
          <div class="track">
            <Bar worker={worker} seconds={seconds} />
            {begins.slice(1).map((at, i) => (
              <i key={i} class="border" style={place(at, seconds)} />
            ))}
            {worker.lost !== null && (
              <i class="mark mark-loss" style={place(worker.until, seconds)}>
                {signs.loss}
              </i>
            )}
          </div>
        </div>
      ))}
      <div class="lane" aria-hidden="true">
        <span />
        <div class="track axis" ref={ref}>
          {ticks(seconds, Math.max(2, Math.floor(width / tickPx)))
            .filter((tick) => width * (1 - tick.at / seconds) > tickWordsPx)
            .map((tick) => (
              <i key={tick.at} style={place(tick.at, seconds)}>
                {tick.words}
              </i>
            ))}
        </div>
      </div>
    </div>
  );
}

function Legend({ timeline }: { timeline: Timeline }) {
  const used = activities.filter((one) => timeline.workers.some((worker) => worker.total[one] > 0));
  const kinds = (Object.keys(signs) as MarkKind[]).filter((kind) => timeline.marks.some((mark) => mark.kind === kind));
  return (
    <ul class="legend whole">
      {used.map((one) => (
        <li key={one}>
          <svg class="box" viewBox="0 0 1 1" aria-hidden="true">
            <rect class={`does-${one}`} width="1" height="1" />
          </svg>{" "}
          {words[one]}
        </li>
      ))}
      {kinds.map((kind) => (
        <li key={kind}>
          <i class={`sign mark-${kind}`} aria-hidden="true">
            {signs[kind]}
          </i>{" "}
          {signWords[kind]}
        </li>
      ))}
    </ul>
  );
}

function Figures({ workers }: { workers: readonly Worker[] }) {
  return (
    <Table label="The workers' time" head={["worker", { numeric: "rank" }, { numeric: "from" }, { numeric: "to" }, ...activities.map((numeric) => ({ numeric })), "lost"]}>
      {workers.map((worker) => (
        <tr key={`${worker.start} ${nameOf(worker)}`}>
          <th scope="row">{nameOf(worker)}</th>
          <td class="numeric">{worker.rank}</td>
          <td class="numeric">{span(worker.from)}</td>
          <td class="numeric">{span(worker.until)}</td>
          {activities.map((one) => (
            <td key={one} class="numeric">
              {percent(worker.total[one], sum(worker.total))}
            </td>
          ))}
          <td class="why">{worker.lost === null ? "" : worker.lost || "yes"}</td>
        </tr>
      ))}
    </Table>
  );
}

function Happened({ marks }: { marks: readonly Mark[] }) {
  return (
    <ol class="happened" tabIndex={0} aria-label="What happened">
      {marks.map((mark, i) => (
        <li key={i}>
          <i class={`sign mark-${mark.kind}`} aria-hidden="true">
            {signs[mark.kind]}
          </i>
          <time dateTime={new Date(mark.time).toISOString()}>{time(mark.time)}</time>
          <span>{mark.what}</span>
        </li>
      ))}
    </ol>
  );
}

export function WorkersTab({ run }: { run: RunDetail }) {
  const { timeline, error } = useTimeline(run);
  const [all, setAll] = useState(false);
  const missing = error instanceof ApiError && error.status === 404;
  if (error && !missing) return <Failure error={error} />;
  if (missing || timeline?.workers.length === 0) return <Empty>The run's folder says nothing of its workers{ended(run.state) ? "" : " yet"}: there is no metrics.jsonl with them in it.</Empty>;
  if (!timeline) return <Empty>loading…</Empty>;
  const { workers, marks, left } = timeline;
  const shown = all ? workers : workers.slice(0, firstWorkers);
  return (
    <>
      <section class="card">
        <header>
          <h2>
            Workers <small>{workers.length + left}</small>
          </h2>
        </header>
        <Legend timeline={timeline} />
        <Chart timeline={timeline} shown={shown} />
        {shown.length < workers.length && (
          <button type="button" onClick={() => setAll(true)}>
            Show all {workers.length} workers
          </button>
        )}
        {left > 0 && <p class="note">{left} more workers came later and are left out.</p>}
        <p class="note">A column of a bar is a time between two accounts of the worker, its colours are the shares of what the worker did. The times of several starts follow each other without the pauses between them. Only checkpoints that are still there are marked.</p>
      </section>
      <section class="card">
        <header>
          <h2>The workers' time</h2>
        </header>
        <Figures workers={shown} />
      </section>
      <section class="card">
        <header>
          <h2>What happened</h2>
        </header>
        <Happened marks={marks} />
      </section>
    </>
  );
}
