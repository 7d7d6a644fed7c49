// What people change of a run by hand. The routes are MLflow's, which the service serves too.

import { send } from "./client.ts";
import type { Me, Run } from "./types.ts";

const base = "/api/2.0/mlflow/runs";

export const noteTag = "mlflow.note.content"; // where MLflow's pages keep it, too
export const archivedTag = "linac.archived";

export const archived = (run: Run): boolean => archivedTag in run.tags;

/** Whether the service will let this user change the run. */
export const mayChange = (me: Me, run: Run): boolean => me.role === "admin" || (me.role === "member" && me.user === run.user);

export async function renameRun(run: string, name: string): Promise<void> {
  await send("POST", `${base}/update`, { run_id: run, run_name: name });
}

export async function setTag(run: string, key: string, value: string): Promise<void> {
  await send("POST", `${base}/set-tag`, { run_id: run, key, value });
}

export async function deleteTag(run: string, key: string): Promise<void> {
  await send("POST", `${base}/delete-tag`, { run_id: run, key });
}

/** Out of the lists, with a tag that anybody can take away again. */
export async function setArchived(run: string, wanted: boolean): Promise<void> {
  await (wanted ? setTag(run, archivedTag, "true") : deleteTag(run, archivedTag));
}

/** Marks it as deleted; restoreRun() takes that back. */
export async function deleteRun(run: string): Promise<void> {
  await send("POST", `${base}/delete`, { run_id: run });
}

export async function restoreRun(run: string): Promise<void> {
  await send("POST", `${base}/restore`, { run_id: run });
}
