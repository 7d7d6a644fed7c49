// The report of the run's folder, as `linac report` or the training has written it: a page of its own, shut in. It runs no
// scripts, loads nothing from elsewhere and cannot reach this page.

import { ApiError } from "../api/client.ts";
import { fileHref, files, textFile, type FileEntry } from "../api/folders.ts";
import type { RunDetail } from "../api/types.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { useState } from "preact/hooks";

const wanted = /(^|\/)[^/]*report[^/]*\.html$|(^|\/)(index|evaluation|comparison|validation)\.html$/i;

/** Reports in the folder and the folders in it; of a model with several outputs each has a folder in `evaluation`. */
async function reports(run: string, signal: AbortSignal): Promise<string[]> {
  const within = async (folders: FileEntry[]) =>
    (await Promise.all(folders.map((folder) => files(run, folder.path, signal).catch(() => [])))).flat();
  const top = await files(run, "", signal);
  const inside = await within(top.filter((entry) => entry.folder && /report|valid|eval|physics|compar/i.test(entry.path)));
  const outputs = await within(inside.filter((entry) => entry.folder && entry.path.startsWith("evaluation/")));
  return [...top, ...inside, ...outputs].filter((entry) => !entry.folder && wanted.test(entry.path)).map((entry) => entry.path);
}

async function page(run: string, path: string, signal: AbortSignal): Promise<{ path: string; text: string }> {
  const { text, cut } = await textFile(fileHref(run, path), signal, 50_000_000);
  if (cut) throw new Error(`${path} is larger than 50 MB; download it from Files`);
  return { path, text };
}

export function ReportTab({ run }: { run: RunDetail }) {
  const list = useLoaded((signal) => reports(run.id, signal), [run.id, run.state]);
  const [chosen, setChosen] = useState("");
  const path = chosen || list.value?.[0] || "";
  const report = useLoaded((signal) => (path ? page(run.id, path, signal) : Promise.resolve(null)), [run.id, path]);
  const missing = list.error instanceof ApiError && list.error.status === 404;
  return (
    <section>
      {!missing && <Failure error={list.error ?? report.error} />}
      {(missing || (list.value && list.value.length === 0)) && (
        <Empty>
          No report yet. A training on labels judges its test when it ends; <code>linac report RUN</code> tells how a
          training went.
        </Empty>
      )}
      {list.value && list.value.length > 1 && (
        <div class="controls">
          <label>
            Report{" "}
            <select value={path} onChange={(event) => setChosen(event.currentTarget.value)}>
              {list.value.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </label>
        </div>
      )}
      {report.value && <iframe key={report.value.path} class="report" title={report.value.path} sandbox="" srcDoc={report.value.text} />}
    </section>
  );
}
