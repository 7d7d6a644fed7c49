// The run's files, one folder at a time; pictures and texts are shown.

import { useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { files, textFile, type FileEntry } from "../api/folders.ts";
import type { RunDetail } from "../api/types.ts";
import { bytes } from "../format.ts";
import { Dialog, Empty, Failure } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";

const picture = /\.(png|jpe?g|gif|webp)$/i;
const readable = /\.(txt|log|ya?ml|json|jsonl|md|csv|tsv|py|toml|ini|cfg|sh|html?|xml|model|conf)$|(^|\/)(MLmodel|VERSION|README)$/i;
const picturesMax = 60;

const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

function TextFile({ entry, close }: { entry: FileEntry; close: () => void }) {
  const { value, error } = useLoaded((signal) => textFile(entry.href, signal), [entry.href]);
  return (
    <Dialog title={entry.path} close={close}>
      <Failure error={error} />
      {value?.cut && <p class="note">Only the beginning is shown.</p>}
      <pre class="code" tabIndex={0}>
        {value?.text ?? ""}
      </pre>
      <a href={entry.href} download={baseName(entry.path)}>
        Download
      </a>
    </Dialog>
  );
}

function Crumbs({ title, folder, open }: { title: string; folder: string; open: (folder: string) => void }) {
  const parts = folder.split("/").filter(Boolean);
  return (
    <nav class="crumbs" aria-label={`Folder of ${title}`}>
      <button type="button" class="quiet" onClick={() => open("")}>
        {title}
      </button>
      {parts.map((part, i) => (
        <span key={i}>
          {" / "}
          <button type="button" class="quiet" onClick={() => open(parts.slice(0, i + 1).join("/"))}>
            {part}
          </button>
        </span>
      ))}
    </nav>
  );
}

function Listing({ run }: { run: RunDetail }) {
  const [folder, setFolder] = useState("");
  const [shown, setShown] = useState<FileEntry | null>(null);
  const { value, error, loading } = useLoaded((signal) => files(run.id, folder, signal), [run.id, run.state, folder]);
  const missing = error instanceof ApiError && error.status === 404;
  const entries = [...(value ?? [])].sort((a, b) => Number(b.folder) - Number(a.folder) || a.path.localeCompare(b.path, "en", { numeric: true }));
  const pictures = entries.filter((entry) => !entry.folder && picture.test(entry.path)).slice(-picturesMax);
  return (
    <section class="card">
      <header>
        <h2>
          <Crumbs title="Files" folder={folder} open={setFolder} />
        </h2>
      </header>
      {!missing && <Failure error={error} />}
      {(missing || (entries.length === 0 && !loading && !error)) && <Empty>No files here.</Empty>}
      {pictures.length > 0 && (
        <div class="pictures">
          {pictures.map((entry) => (
            <a key={entry.path} href={entry.href} target="_blank" rel="noreferrer">
              <img src={entry.href} alt={baseName(entry.path)} loading="lazy" />
              <span>{baseName(entry.path)}</span>
            </a>
          ))}
        </div>
      )}
      <ul class="files">
        {entries.map((entry) => (
          <li key={entry.path}>
            {entry.folder ? (
              <button type="button" class="quiet" onClick={() => setFolder(entry.path)}>
                <span aria-hidden="true">▸ </span>
                {baseName(entry.path)}/
              </button>
            ) : readable.test(entry.path) ? (
              <button type="button" class="quiet" onClick={() => setShown(entry)}>
                {baseName(entry.path)}
              </button>
            ) : (
              <a href={entry.href} download={baseName(entry.path)}>
                {baseName(entry.path)}
              </a>
            )}
            <span class="push small">{entry.folder ? "" : bytes(entry.bytes)}</span>
          </li>
        ))}
      </ul>
      {shown && <TextFile entry={shown} close={() => setShown(null)} />}
    </section>
  );
}

function Checkpoints({ run }: { run: RunDetail }) {
  const { value } = useLoaded((signal) => files(run.id, "checkpoints", signal).catch(() => []), [run.id, run.state]);
  if (!value?.length) return null;
  const entries = [...value].sort((a, b) => b.path.localeCompare(a.path, "en", { numeric: true }));
  return (
    <section class="card">
      <header>
        <h2>
          Checkpoints <small>{entries.length}</small>
        </h2>
      </header>
      <ul class="files">
        {entries.map((entry) => (
          <li key={entry.path}>
            {entry.folder ? <span>{baseName(entry.path)}/</span> : <a href={entry.href} download={baseName(entry.path)}>{baseName(entry.path)}</a>}
            <span class="push small">{entry.folder ? "" : bytes(entry.bytes)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function FilesTab({ run }: { run: RunDetail }) {
  return (
    <div class="columns">
      <Listing run={run} />
      <Checkpoints run={run} />
    </div>
  );
}
