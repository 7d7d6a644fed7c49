// A job from the browser into the queue, as `linac submit` puts it there: it is checked first.

import { useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { checkJob, sites, submitJob } from "../api/jobs.ts";
import type { Me } from "../api/types.ts";
import { useKept, useLoaded } from "../parts/hooks.ts";
import type { Subject } from "../api/plans.ts";
import { hashOf } from "../router.ts";
import { emptyDraft, settingsOf, submissionOf, type Draft } from "../submission.ts";
import { PlanView } from "./plan.tsx";

type Verdict = { of: Draft; error?: Error; run?: { id: string; name: string } };

const randomKey = () => [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(16).padStart(8, "0")).join("");

function Result({ verdict }: { verdict: Verdict }) {
  const { error, run } = verdict;
  if (run)
    return (
      <p class="good" role="status">
        Queued: <a href={hashOf(["runs", run.id])}>{run.name}</a>
      </p>
    );
  if (!error)
    return (
      <p class="good" role="status">
        The job would be queued: its keys and values are right, and its files are there.
      </p>
    );
  const refused = !(error instanceof ApiError) || [400, 403, 422].includes(error.status);
  return (
    <p class="failure" role="alert">
      <strong>{refused ? "It would be refused." : "That did not work."}</strong> {error.message}
    </p>
  );
}

export function SubmitForm({ me, queued }: { me: Me; queued: () => void }) {
  const [directory, setDirectory] = useKept("submit.directory", "");
  const [draft, setDraft] = useState<Draft>(() => ({ ...emptyDraft, directory }));
  const { value: places } = useLoaded(sites, []);
  const [verdict, setVerdict] = useState<Verdict>();
  const [busy, setBusy] = useState(false);
  const [planned, setPlanned] = useState<Subject>();
  const key = useRef(randomKey());
  const told = verdict?.of === draft ? verdict : undefined; // of what is written now
  const ready = told && !told.error && !told.run;

  const change = (part: Partial<Draft>) => {
    key.current = randomKey();
    setDraft((before) => ({ ...before, ...part }));
  };
  const act = (action: () => Promise<Partial<Verdict>>) => {
    setBusy(true);
    action()
      .catch((error: Error) => ({ error }))
      .then((found) => {
        setVerdict({ of: draft, ...found });
        setBusy(false);
      });
  };
  const check = () =>
    act(async () => {
      await checkJob(submissionOf(draft));
      return {};
    });
  const submit = () =>
    act(async () => {
      const run = await submitJob(submissionOf(draft), key.current);
      key.current = randomKey();
      setDirectory(draft.directory);
      queued();
      return { run };
    });
  const field = (title: string, name: keyof Draft, hint: string, placeholder = "") => (
    <label title={hint}>
      {title}
      <input value={draft[name]} placeholder={placeholder} spellcheck={false} autocomplete="off" onInput={(event) => change({ [name]: event.currentTarget.value })} />
    </label>
  );
  const take = (file: File | undefined) =>
    file &&
    file.text().then(
      (job) => change({ job }),
      (error: Error) => setVerdict({ of: draft, error: new Error(`${file.name}: ${error.message}`) }),
    );

  return (
    <>
    <form
      class="card form"
      aria-label="Submit a job"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) submit();
        else check();
      }}
    >
      <label>
        Job file, as text
        <textarea name="job" rows={12} spellcheck={false} placeholder={"name: mine\nmodel: {kind: inclusive_classifier}\n…"} value={draft.job} onInput={(event) => change({ job: event.currentTarget.value })} />
      </label>
      <div class="fields">
        <label>
          or from a file of yours
          <input type="file" accept=".yaml,.yml,.txt" onChange={(event) => void take(event.currentTarget.files?.[0])} />
        </label>
        {field("Folder on the service's host", "directory", "relative paths of the job are below it", "/home/me/project")}
        {field("Name", "name", "of the run; else the job's")}
        {field("Experiment", "experiment", "made if there is none of that name", "Default")}
        {field("Priority", "priority", me.role === "admin" ? "larger first" : "0 or below; more is for admins", "0")}
        {field("Cores", "cores", "else workers × train.threads of the job")}
        <label title="agents and sites take jobs whose files are URLs or lie at absolute paths of their hosts">
          Carried out by
          <select value={draft.on} onChange={(event) => change({ on: event.currentTarget.value })}>
            <option value="">the service's host</option>
            <option value="pilots">agents</option>
            {places?.map((site) => (
              <option key={site.name} value={site.name}>
                {site.name} ({site.kind})
              </option>
            ))}
          </select>
        </label>
        {field("Time", "time", "after so long it writes a checkpoint and stops", "12h")}
        <label class="wide">
          Settings that differ, one a line
          <textarea name="set" rows={3} spellcheck={false} placeholder="train.epochs=50" value={draft.set} onInput={(event) => change({ set: event.currentTarget.value })} />
        </label>
      </div>
      {told && <Result verdict={told} />}
      <div class="controls">
        <button type="submit" class="primary" disabled={busy}>
          {ready ? "Put it into the queue" : "Check"}
        </button>
        <button type="button" disabled={draft.job.trim() === ""} title="what it would take, by runs of the same work" onClick={() => setPlanned({ job: draft.job, set: settingsOf(draft) })}>
          Plan
        </button>
      </div>
    </form>
    {planned && <PlanView subject={planned} />}
    </>
  );
}
