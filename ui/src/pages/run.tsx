// One run: what it is, its curves, log, files and report.

import { useEffect, useMemo } from "preact/hooks";
import { archived, mayChange } from "../api/changes.ts";
import { cancelRun, jobText, resumeRun } from "../api/jobs.ts";
import { runDetail } from "../api/tracking.ts";
import { ended, type Me, type RunDetail } from "../api/types.ts";
import { CurvesView } from "../curves/view.tsx";
import { duration } from "../format.ts";
import { wasQueued } from "../history.ts";
import { Copy, Empty, Failure, StateMark, Tabs, When } from "../parts/basics.tsx";
import { useAction } from "../parts/action.tsx";
import { useLoaded, useNow } from "../parts/hooks.ts";
import { hashOf, type Place } from "../router.ts";
import { took } from "./columns.tsx";
import { FilesTab } from "./run_files.tsx";
import { LogTab } from "./run_log.tsx";
import { Keeping, Name } from "./run_edit.tsx";
import { Overview } from "./run_overview.tsx";
import { Physics } from "./physics.tsx";
import { PlanView } from "./plan.tsx";
import { Pictures } from "./pictures.tsx";
import { ReportTab } from "./run_report.tsx";
import { WorkersTab } from "./run_workers.tsx";

const refreshMs = 5000;

const tabs = [
  { id: "overview", title: "Overview" },
  { id: "curves", title: "Curves" },
  { id: "workers", title: "Workers" },
  { id: "plan", title: "Plan" },
  { id: "log", title: "Log" },
  { id: "pictures", title: "Pictures" },
  { id: "physics", title: "Physics" },
  { id: "files", title: "Files" },
  { id: "report", title: "Report" },
];

function Title({ run, me, isJob, again }: { run: RunDetail; me: Me; isJob: boolean; again: () => void }) {
  const now = useNow(1000);
  const { act, shown } = useAction(again);
  const over = ended(run.state);
  const change = mayChange(me, run);
  const mayCancel = isJob && change;
  return (
    <>
      <header class="title">
        <Name run={run} change={change} again={again} />
        <StateMark state={run.state} />
        <span class="facts">
          {run.user}
          {run.started > 0 && (
            <>
              {" · started "}
              <When ms={run.started} now={now} />
              {" · "}
              {duration(took(run, now))}
            </>
          )}
        </span>
        <span class="push">
          <code class="id">{run.id.slice(0, 8)}</code> <Copy text={run.id} label="Copy id" />
          {mayCancel && !over && (
            <button type="button" onClick={() => confirm(`Cancel ${run.name}?`) && act(() => cancelRun(run.id))}>
              Cancel
            </button>
          )}
          {mayCancel && over && run.state !== "SUCCEEDED" && (
            <button type="button" onClick={() => act(() => resumeRun(run.id))}>
              Resume
            </button>
          )}
          {change && <Keeping run={run} again={again} />}
        </span>
      </header>
      {shown}
      {run.deleted && <p class="warn">This run is deleted.</p>}
      {archived(run) && <p class="note">This run is archived: the lists leave it out.</p>}
      {run.reason && <p class={`reason state-${run.state.toLowerCase()}`}>{run.reason}</p>}
    </>
  );
}

export function RunPage({ place, me }: { place: Place; me: Me }) {
  const id = place.parts[1] ?? "";
  const tab = place.query.get("tab") ?? "overview";
  const { value: run, error, again } = useLoaded((signal) => runDetail(id, signal), [id]);
  const queued = run !== undefined && wasQueued(run);
  const job = useLoaded((signal) => (queued ? jobText(id, signal) : Promise.resolve("")), [id, queued]);
  const live = run !== undefined && run.id === id && !ended(run.state);
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => document.hidden || again(), refreshMs);
    return () => clearInterval(timer);
  }, [live, again]);
  useEffect(() => {
    if (run) document.title = `${run.name} · linac`;
    return () => void (document.title = "linac");
  }, [run?.name]);
  const href = (wanted: string) => hashOf(["runs", id], { tab: wanted });
  const keys = run ? Object.keys(run.metrics).sort().join("\n") : "";
  const same = useMemo(() => (run ? [run] : []), [run?.id, run?.state, run?.name, keys]);
  if (!run || run.id !== id)
    return (
      <main class="page">
        <Failure error={error} again={again} />
        {!error && <Empty>loading…</Empty>}
      </main>
    );
  return (
    <main class="page">
      <Title run={run} me={me} isJob={Boolean(job.value)} again={again} />
      <Tabs label="Parts of the run" tabs={tabs} chosen={tab} href={href} />
      <Failure error={error} again={again} />
      {tab === "overview" && <Overview run={run} job={job.value ?? ""} change={mayChange(me, run)} again={again} />}
      {tab === "curves" && <CurvesView runs={same} changed={again} />}
      {tab === "workers" && <WorkersTab run={run} />}
      {tab === "plan" && <PlanView subject={{ run: run.id }} />}
      {tab === "log" && <LogTab run={run} />}
      {tab === "pictures" && <Pictures runs={same} place={place} />}
      {tab === "physics" && <Physics runs={same} />}
      {tab === "files" && <FilesTab run={run} />}
      {tab === "report" && <ReportTab run={run} />}
    </main>
  );
}
