// A study while it goes on: the best over time or the front, what decides, all parameters together, and the trials.

import { useEffect, useMemo, useState } from "preact/hooks";
import { studyNews, type StudyRecord, type Trial } from "../api/studies.ts";
import type { Run } from "../api/types.ts";
import { ticksOf } from "../axes.ts";
import { duration, number } from "../format.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useSize } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { hashOf, type Place } from "../router.ts";
import { Parallel, Scatter } from "./compare_axes.tsx";

const refreshMs = 2000;
const shownMost = 1000; // rows of the table
const drawnMost = 2000; // lines across the axes: the newest

const words = (value: number) => (Number.isFinite(value) ? number(value) : "–");
const titleOf = (trial: Trial) => `trial ${trial.number}`;

/** Complete trials as what the charts of runs draw. */
function asRuns(study: StudyRecord): Run[] {
  return study.trials
    .filter((trial) => trial.state === "complete")
    .slice(-drawnMost)
    .map((trial) => ({
      id: String(trial.number),
      experiment: "",
      name: titleOf(trial),
      user: "",
      state: "SUCCEEDED",
      reason: trial.reason,
      deleted: false,
      created: 0,
      started: 0,
      ended: 0,
      parameters: Object.fromEntries(study.parameters.flatMap((one, i) => (trial.words[i] === null || trial.words[i] === undefined ? [] : [[one.name, trial.words[i]!]]))),
      tags: {},
      metrics: Object.fromEntries(study.objectives.map((one, i) => [one.name, { value: trial.values[i] ?? NaN } as Run["metrics"][string]])),
    }));
}

const height = 260;
const edge = { left: 70, right: 20, top: 16, bottom: 34 };

function BestOverTime({ study }: { study: StudyRecord }) {
  const { ref, width } = useSize<HTMLDivElement>();
  const objective = study.objectives[0]!;
  const told = study.trials.filter((trial) => trial.state === "complete" && Number.isFinite(trial.values[0]));
  if (told.length === 0) return <Empty>No trial is complete yet.</Empty>;
  const values = told.map((trial) => trial.values[0]!);
  const sorted = [...values].sort((a, b) => a - b);
  // Few that are far off would hide all others.
  const [worst, best] = objective.maximize ? [sorted[Math.floor(sorted.length * 0.05)]!, sorted[sorted.length - 1]!] : [sorted[Math.ceil(sorted.length * 0.95) - 1]!, sorted[0]!];
  const [low, high] = [Math.min(worst, best), Math.max(worst, best)];
  const span = high - low || Math.abs(high) || 1;
  const last = study.trials[study.trials.length - 1]!.number;
  const x = (trial: number) => edge.left + ((trial - 0.5) / last) * (width - edge.left - edge.right);
  const y = (value: number) => edge.top + (1 - Math.min(Math.max((value - low) / span, 0), 1)) * (height - edge.top - edge.bottom);
  let path = "";
  let leader = NaN;
  for (const trial of told) {
    const value = trial.values[0]!;
    if (Number.isNaN(leader)) path = `M${x(trial.number)} ${y(value)}`;
    if (Number.isNaN(leader) || (objective.maximize ? value > leader : value < leader)) {
      if (!Number.isNaN(leader)) path += `H${x(trial.number)}V${y(value)}`;
      leader = value;
    }
  }
  path += `H${x(last)}`;
  return (
    <div ref={ref} class="drawn">
      {width > 50 && (
        <svg width={width} height={height} role="img" aria-label={`${objective.name} of each trial, and the best so far: ${words(leader)}`}>
          {ticksOf(low, low + span, false).map((tick) => (
            <g key={tick} class="tick-line">
              <line x1={edge.left} x2={width - edge.right} y1={y(tick)} y2={y(tick)} />
              <text x={edge.left - 8} y={y(tick) + 4} text-anchor="end">{number(tick, 4)}</text>
            </g>
          ))}
          {ticksOf(1, Math.max(last, 2), false, true).map((tick) => (
            <text key={tick} x={x(tick)} y={height - 12} text-anchor="middle">{tick}</text>
          ))}
          {told.map((trial) => (
            <circle key={trial.number} cx={x(trial.number)} cy={y(trial.values[0]!)} r={4} style={{ fill: "var(--line-0)", opacity: 0.55 }}>
              <title>{`${titleOf(trial)}: ${words(trial.values[0]!)}`}</title>
            </circle>
          ))}
          <path d={path} style={{ fill: "none", stroke: "var(--line-1)", strokeWidth: 2 }} />
        </svg>
      )}
    </div>
  );
}

function Importance({ study }: { study: StudyRecord }) {
  const shares = study.importance[0] ?? [];
  const order = study.parameters.map((one, i) => ({ name: one.name, share: shares[i] ?? 0 })).sort((a, b) => b.share - a.share);
  if (!order.some((one) => one.share > 0)) return <Empty>Too few trials are complete to say what decides.</Empty>;
  return (
    <Table label="What decides" head={["Parameter", { numeric: "Share" }, ""]}>
      {order.map((one) => (
        <tr key={one.name}>
          <th scope="row">{one.name}</th>
          <td class="numeric">{Math.round(100 * one.share)} %</td>
          <td class="share">
            <i style={{ width: `${Math.round(100 * one.share)}%` }} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

type Key = { name: string; value: (trial: Trial) => number | string };

/** `marked`: the number of the one that a chart has led to; "": none. */
function Trials({ study, marked }: { study: StudyRecord; marked: string }) {
  const front = new Set(study.front);
  const keys: Key[] = [
    { name: "Trial", value: (trial) => trial.number },
    { name: "State", value: (trial) => trial.state },
    ...study.objectives.map((one, i) => ({ name: one.name, value: (trial: Trial) => trial.values[i] ?? NaN })),
    ...study.parameters.map((one, i) => ({ name: one.name, value: (trial: Trial) => (Number.isNaN(Number(trial.words[i] ?? "x")) ? (trial.words[i] ?? "") : Number(trial.words[i])) })),
    { name: "Steps", value: (trial) => trial.steps ?? NaN },
    { name: "Time", value: (trial) => trial.seconds ?? NaN },
  ];
  const [sort, setSort] = useState({ by: 2, down: study.objectives[0]?.maximize ?? false });
  const [filter, setFilter] = useState("");
  useEffect(() => setFilter(marked && `#${marked}`), [marked]);
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (trial: Trial) => [trial.state, trial.reason, ...study.parameters.map((one, i) => `${one.name}=${trial.words[i] ?? ""}`)].join(" ").toLowerCase();
  const chosen = study.trials.filter((trial) => wanted.every((word) => (word.startsWith("#") ? word === `#${trial.number}` : text(trial).includes(word))));
  const by = keys[Math.min(sort.by, keys.length - 1)]!.value;
  const rows = [...chosen].sort((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (typeof a === "number" && typeof b === "number") {
      if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b)); // those without come last
      return sort.down ? b - a : a - b;
    }
    return String(a).localeCompare(String(b), "en", { numeric: true }) * (sort.down ? -1 : 1);
  });
  return (
    <section class="card">
      <div class="controls">
        <label>
          Filter <input type="search" value={filter} placeholder="pruned  kind=a  #7" onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
        <span class="small" aria-live="polite">
          {chosen.length} of {study.trials.length} trials{rows.length > shownMost ? `, the first ${shownMost} are shown` : ""}
        </span>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Trials">
        <table class="plain">
          <thead>
            <tr>
              {keys.map((key, i) => (
                <th key={`${i} ${key.name}`} scope="col" class={i === 1 ? "" : "numeric"} aria-sort={sort.by === i ? (sort.down ? "descending" : "ascending") : "none"}>
                  <button type="button" class="quiet" onClick={() => setSort({ by: i, down: sort.by === i && !sort.down })}>
                    {key.name}
                    {sort.by === i ? (sort.down ? " ↓" : " ↑") : ""}
                  </button>
                </th>
              ))}
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shownMost).map((trial) => (
              <tr key={trial.number} class={front.has(trial.number) ? "differs" : ""}>
                <th scope="row" class="numeric">{trial.number}</th>
                <td>{trial.state}</td>
                {study.objectives.map((one, i) => (
                  <td key={one.name} class="numeric">{words(trial.values[i] ?? NaN)}</td>
                ))}
                {study.parameters.map((one, i) => (
                  <td key={one.name} class="numeric">{Number.isNaN(Number(trial.words[i] ?? "x")) ? (trial.words[i] ?? "–") : number(Number(trial.words[i]))}</td>
                ))}
                <td class="numeric">{trial.steps ?? "–"}</td>
                <td class="numeric">{trial.seconds === null ? "–" : duration(trial.seconds * 1000)}</td>
                <td class="why">{trial.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function StudyPage({ name, place }: { name: string; place: Place }) {
  const [study, setStudy] = useState<StudyRecord>();
  const [queue, setQueue] = useState("");
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const abort = new AbortController();
    let lines = -1;
    let timer = 0;
    const load = async () => {
      if (!document.hidden || lines < 0)
        try {
          const news = await studyNews(name, lines, abort.signal);
          if (news.record) {
            lines = news.record.lines;
            setStudy(news.record);
          }
          setQueue(news.queue);
          setError(undefined);
        } catch (caught) {
          if (!abort.signal.aborted) setError(caught as Error);
        }
      if (!abort.signal.aborted) timer = window.setTimeout(() => void load(), refreshMs);
    };
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [name]);
  const runs = useMemo(() => (study ? asRuns(study) : []), [study]);
  const href = (run: Run) => {
    const query = new URLSearchParams(place.query);
    query.set("trial", run.id);
    return hashOf(["studies", name], query);
  };
  const several = study !== undefined && study.objectives.length > 1;
  const axes = new URLSearchParams(place.query);
  if (study && several) for (const [key, i] of [["x", 0], ["y", 1]] as const) if (!axes.has(key)) axes.set(key, `m:${study.objectives[i]!.name}`);
  if (!axes.has("color")) axes.set("color", "p:stands");
  const standing = runs.map((run) => ({ ...run, parameters: { ...run.parameters, stands: study?.front.includes(Number(run.id)) ? "on the front" : "behind it" } }));
  const best = study && !several ? study.trials.find((trial) => trial.number === study.front[0]) : undefined;
  return (
    <main class="page">
      <header class="title">
        <h1>{name}</h1>
        {study && <span class="facts">{[...study.facts.map(([key, value]) => `${key}: ${value}`), ...(queue ? [queue] : [])].join(" · ")}</span>}
      </header>
      <Failure error={error} />
      {study && (
        <>
          {best && (
            <p>
              The best of {study.trials.length} trials is number {best.number}: {study.objectives[0]!.name} {words(best.values[0]!)}
            </p>
          )}
          <section class="card">
            <h2>{several ? `Those that no other one beats: ${study.front.length} of ${runs.length}` : "The best over time"}</h2>
            {!several && <BestOverTime study={study} />}
          </section>
          {several && <Scatter runs={standing} place={{ ...place, query: axes }} href={href} noun="trials" />}
          <section class="card">
            <h2>What decides</h2>
            <Importance study={study} />
          </section>
          {runs.length > 1 && <Parallel runs={runs} place={place} href={href} noun="trials" />}
          <Trials study={study} marked={place.query.get("trial") ?? ""} />
        </>
      )}
    </main>
  );
}
