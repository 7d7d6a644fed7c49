// State and history, parameters, metrics, tags, data sets and the job as it was resolved.

import { fileHref, files, textFile } from "../api/folders.ts";
import type { Metric, RunDetail } from "../api/types.ts";
import { betterOf, type Better } from "../better.ts";
import { byPrefix } from "../curves/settings.ts";
import { duration, number, time } from "../format.ts";
import { stays } from "../history.ts";
import { byInterest } from "../metric_order.ts";
import { Copy, Empty, Pairs, StateMark } from "../parts/basics.tsx";
import { useLoaded, useNow } from "../parts/hooks.ts";
import { Lost } from "../parts/lost.tsx";
import { Table } from "../parts/table.tsx";
import { Note, Tags } from "./run_edit.tsx";

function History({ run }: { run: RunDetail }) {
  const now = useNow(1000);
  return (
    <section class="card">
      <header>
        <h2>History</h2>
      </header>
      <ol class="history">
        {stays(run, now).map((stay, i) => (
          <li key={`${stay.from}-${i}`}>
            <StateMark state={stay.state} />
            <time dateTime={new Date(stay.from).toISOString()}>{time(stay.from)}</time>
            <span class="small">{Number.isNaN(stay.until) ? "" : `for ${duration(stay.until - stay.from)}`}</span>
            {stay.reason && <span class="why">{stay.reason}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Metrics({ run }: { run: RunDetail }) {
  const metrics = Object.values(run.metrics).sort((a, b) => byInterest(a.key, b.key));
  const groups = byPrefix(metrics.map((metric) => metric.key));
  const extreme = (metric: Metric, which: Better) => {
    const leads = betterOf(metric.key) === which && metric.min < metric.max;
    const value = which === "least" ? metric.min : metric.max;
    return (
      <td class={`numeric ${leads ? "best" : ""}`} title={leads ? "the best so far" : undefined}>
        {Number.isNaN(value) ? "" : number(value)}
      </td>
    );
  };
  return (
    <section class="card">
      <header>
        <h2>
          Metrics <small>{metrics.length || ""}</small>
        </h2>
      </header>
      {metrics.length === 0 ? (
        <Empty>No metrics yet.</Empty>
      ) : (
        <Table label="Metrics" head={["metric", ...["last", "step", "smallest", "largest", "points"].map((numeric) => ({ numeric }))]}>
          {groups.flatMap(({ title, keys }) => [
            ...(groups.length > 1 ? [<tr key={`group ${title}`}><th scope="colgroup" colSpan={6}>{title}</th></tr>] : []),
            ...keys.map((key) => run.metrics[key]!).map((metric) => (
            <tr key={metric.key}>
              <th scope="row">{metric.key}</th>
              <td class={`numeric ${Number.isFinite(metric.value) ? "" : "bad"}`}>{number(metric.value)}</td>
              <td class="numeric">{metric.step}</td>
              {extreme(metric, "least")}
              {extreme(metric, "most")}
              <td class="numeric">{metric.count}</td>
            </tr>
            )),
          ])}
        </Table>
      )}
    </section>
  );
}

async function resolvedJob(run: string, signal: AbortSignal): Promise<{ text: string } | null> {
  const there = (await files(run, "", signal)).some((entry) => entry.path === "job.yaml");
  return there ? textFile(fileHref(run, "job.yaml"), signal) : null;
}

/** What the training has resolved, else what was queued. */
function Job({ run, queued }: { run: RunDetail; queued: string }) {
  const { value } = useLoaded((signal) => resolvedJob(run.id, signal).catch(() => null), [run.id, run.state]);
  const text = value?.text ?? queued;
  if (!text) return null;
  return (
    <section class="card">
      <header>
        <h2>{value ? "Job as resolved" : "Job as queued"}</h2>
        <Copy text={text} />
      </header>
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}

export function Overview({ run, job, change, again }: { run: RunDetail; job: string; change: boolean; again: () => void }) {
  return (
    <div class="columns">
      <Lost runs={[run]} />
      <Note key={`note ${run.id}`} run={run} change={change} again={again} />
      <History run={run} />
      <Metrics run={run} />
      <Pairs title="Parameters" pairs={Object.entries(run.parameters)} empty="No parameters." />
      <Tags run={run} change={change} again={again} />
      {run.inputs.length > 0 && <Pairs title="Data" pairs={run.inputs.map((one) => [one.name, `${one.source} ${one.digest}`] as const)} empty="" />}
      <Job run={run} queued={job} />
    </div>
  );
}
