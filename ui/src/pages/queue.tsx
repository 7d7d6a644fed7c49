// What waits and what runs, in the order in which it will be started; and more of it.

import { useEffect, useState } from "preact/hooks";
import { agents, cancelRun, clearHost, hostMarks, queue } from "../api/jobs.ts";
import type { Me, QueuedJob } from "../api/types.ts";
import { ago, duration, resources, time } from "../format.ts";
import { Empty, Failure, StateMark } from "../parts/basics.tsx";
import { useAction } from "../parts/action.tsx";
import { useLoaded, useNow } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { hashOf } from "../router.ts";
import { AgentsTable } from "./agents.tsx";
import { HostMarksTable } from "./host_marks.tsx";
import { SubmitForm } from "./submit.tsx";

const refreshMs = 3000;

export function QueuePage({ me }: { me: Me }) {
  const { value, error, again } = useLoaded(queue, []);
  const { value: others, error: unknown, again: askAgents } = useLoaded(agents, []);
  const { value: marks, again: askMarks } = useLoaded(hostMarks, []);
  const { act, busy, shown } = useAction(() => {
    again();
    askMarks();
  });
  const [form, setForm] = useState(false);
  const now = useNow(1000);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden) return;
      again();
      askAgents();
      askMarks();
    }, refreshMs);
    return () => clearInterval(timer);
  }, [again, askAgents, askMarks]);
  const mayCancel = (job: QueuedJob) => me.role === "admin" || (me.role === "member" && job.user === me.user && job.run !== "");
  return (
    <main class="page">
      <header class="title">
        <h1>Queue</h1>
        {value && <span class="facts">on {resources(value)}</span>}
        {me.role !== "viewer" && (
          <button type="button" class="push" aria-expanded={form} onClick={() => setForm(!form)}>
            Submit a job
          </button>
        )}
      </header>
      <Failure error={error} again={again} />
      {shown}
      {form && <SubmitForm me={me} queued={again} />}
      {value?.jobs.length === 0 && (
        <Empty>
          Nothing waits and nothing runs. <code>linac submit JOB.yaml</code> changes that.
        </Empty>
      )}
      {value && value.jobs.length > 0 && (
        <Table card label="Queue" head={[{ numeric: "#" }, "State", "Run", "User", { numeric: "Priority" }, "Wants", "On", "Submitted", { numeric: "Attempts" }, "Used", "Remarks", ""]}>
          {value.jobs.map((job, i) => (
            <tr key={job.run || i}>
              <td class="numeric">{i + 1}</td>
              <td>
                <StateMark state={job.state} />
              </td>
              <th scope="row">
                {job.run ? <a href={hashOf(["runs", job.run])}>{job.name}</a> : "a job of somebody else"}
              </th>
              <td>{job.user}</td>
              <td class="numeric">{job.priority}</td>
              <td>{resources(job)}</td>
              <td>{job.on === "pilots" ? "agents" : job.on || "this host"}</td>
              <td title={time(job.submitted)}>{ago(job.submitted, now)}</td>
              <td class="numeric">{job.attempts}</td>
              <td>{job.secondsUsed ? duration(job.secondsUsed * 1000) : ""}</td>
              <td class="why">
                {job.cancelWished ? "is being cancelled" : job.reason}
                {job.heldBy && ` waits: ${job.heldBy}`}
                {job.dependsOn.length > 0 && (
                  <>
                    {" after "}
                    {job.dependsOn.map((run) => (
                      <a key={run} href={hashOf(["runs", run])}>
                        {run.slice(0, 8)}{" "}
                      </a>
                    ))}
                  </>
                )}
              </td>
              <td>
                {mayCancel(job) && !job.cancelWished && (
                  <button type="button" disabled={busy} aria-label={`Cancel ${job.name}`} onClick={() => confirm(`Cancel ${job.name}?`) && act(() => cancelRun(job.run))}>
                    Cancel
                  </button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {value && value.count > value.jobs.length && <p class="note">{value.count - value.jobs.length} more wait behind these.</p>}
      {(unknown || (others && others.length > 0)) && <h2>Agents</h2>}
      <Failure error={unknown} again={askAgents} />
      {others && others.length > 0 && <AgentsTable agents={others} now={now} />}
      {marks && marks.length > 0 && (
        <>
          <h2>Hosts that compute wrongly</h2>
          <HostMarksTable marks={marks} now={now} clear={me.role === "admin" ? (host) => act(() => clearHost(host)) : undefined} />
        </>
      )}
    </main>
  );
}
