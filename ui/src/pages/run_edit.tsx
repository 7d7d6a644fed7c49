// What people change of a run: its name, its note, its tags, and whether it is in the lists.

import { useEffect, useRef, useState } from "preact/hooks";
import { archived, deleteRun, deleteTag, noteTag, renameRun, restoreRun, setArchived, setTag } from "../api/changes.ts";
import { ended, type Run } from "../api/types.ts";
import { useAction } from "../parts/action.tsx";
import { Empty, Value } from "../parts/basics.tsx";
import { Markdown } from "../parts/markdown.tsx";

const noteBytesMax = 8000; // longer tags are cut by the service
const nameMax = 250;

/** The run's name; with a form in its place while it is changed. */
export function Name({ run, change, again }: { run: Run; change: boolean; again: () => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), [typed === null]);
  const { act, busy, shown } = useAction(() => {
    setTyped(null);
    again();
  });
  if (typed === null)
    return (
      <>
        <h1>{run.name}</h1>
        {change && (
          <button type="button" class="quiet" aria-label="Rename" title="Rename" onClick={() => setTyped(run.name)}>
            ✎
          </button>
        )}
      </>
    );
  return (
    <form
      class="inline rename"
      onSubmit={(event) => {
        event.preventDefault();
        act(() => renameRun(run.id, typed.trim()));
      }}
    >
      <h1 class="hidden">{run.name}</h1>
      <input aria-label="Name of the run" required pattern=".*\S.*" maxLength={nameMax} ref={field} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} onKeyDown={(event) => event.key === "Escape" && setTyped(null)} />
      <button type="submit" class="primary" disabled={busy}>
        Save
      </button>
      <button type="button" onClick={() => setTyped(null)}>
        Leave it
      </button>
      {shown}
    </form>
  );
}

/** Archive, delete, and back. */
export function Keeping({ run, again }: { run: Run; again: () => void }) {
  const { act, busy, shown } = useAction(again);
  if (run.deleted)
    return (
      <>
        <button type="button" disabled={busy} onClick={() => act(() => restoreRun(run.id))}>
          Restore
        </button>
        {shown}
      </>
    );
  return (
    <>
      <button type="button" disabled={busy} title={archived(run) ? "back into the lists" : "out of the lists; nothing is lost"} onClick={() => act(() => setArchived(run.id, !archived(run)))}>
        {archived(run) ? "Unarchive" : "Archive"}
      </button>
      {ended(run.state) && (
        <button type="button" disabled={busy} onClick={() => confirm(`Delete ${run.name}? It can be restored: Runs, "deleted".`) && act(() => deleteRun(run.id))}>
          Delete
        </button>
      )}
      {shown}
    </>
  );
}

/** The note, read as Markdown. */
export function Note({ run, change, again }: { run: Run; change: boolean; again: () => void }) {
  const text = run.tags[noteTag] ?? "";
  const [typed, setTyped] = useState<string | null>(null);
  const { act, busy, shown } = useAction(() => {
    setTyped(null);
    again();
  });
  const bytes = typed === null ? 0 : new TextEncoder().encode(typed).length;
  const keep = () => act(() => (typed!.trim() === "" ? (text ? deleteTag(run.id, noteTag) : Promise.resolve()) : setTag(run.id, noteTag, typed!)));
  if (!text && !change) return null;
  return (
    <section class="card note-card">
      <header>
        <h2>Note</h2>
        {change && typed === null && (
          <button type="button" aria-label={text ? "Edit the note" : "Write a note"} onClick={() => setTyped(text)}>
            {text ? "Edit" : "Write"}
          </button>
        )}
      </header>
      {shown}
      {typed === null ? (
        text ? (
          <Markdown text={text} />
        ) : (
          <Empty>No note yet.</Empty>
        )
      ) : (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            keep();
          }}
        >
          <textarea aria-label="Note, in Markdown" rows={8} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && bytes <= noteBytesMax && keep()} />
          {typed.trim() !== "" && (
            <div class="preview" aria-label="As it will be read">
              <Markdown text={typed} />
            </div>
          )}
          <div class="controls">
            <button type="submit" class="primary" disabled={busy || bytes > noteBytesMax}>
              Save
            </button>
            <button type="button" onClick={() => setTyped(null)}>
              Leave it
            </button>
            <span class={bytes > noteBytesMax ? "bad" : "small"}>
              {bytes > noteBytesMax ? `${bytes - noteBytesMax} bytes too long` : "Markdown; HTML is shown as it is written"}
            </span>
          </div>
        </form>
      )}
    </section>
  );
}

const ours = (key: string) => key === "linac.cursor" || key.startsWith("mlflow.");

/** The run's tags, which can be changed here if they are people's own. */
export function Tags({ run, change, again }: { run: Run; change: boolean; again: () => void }) {
  const { act, busy, shown } = useAction(again);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const tags = Object.entries(run.tags).filter(([name]) => !ours(name));
  return (
    <section class="card">
      <header>
        <h2>
          Tags <small>{tags.length || ""}</small>
        </h2>
      </header>
      {tags.length === 0 && <Empty>No tags.</Empty>}
      <dl class="pairs">
        {tags.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="with-button">
              <span>
                <Value text={text} />
              </span>
              {change && !name.startsWith("linac.") && (
                <button type="button" class="quiet" disabled={busy} aria-label={`Remove tag ${name}`} onClick={() => act(() => deleteTag(run.id, name))}>
                  ✕
                </button>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {shown}
      {change && (
        <form
          class="inline add-tag"
          onSubmit={(event) => {
            event.preventDefault();
            act(() =>
              setTag(run.id, key.trim(), value).then(() => {
                setKey("");
                setValue("");
              }),
            );
          }}
        >
          <input aria-label="Tag" placeholder="tag" required maxLength={250} pattern="(?!mlflow\.|linac\.).*\S.*" title="a name; those that begin with mlflow. or linac. are not for people" size={10} autocomplete="off" spellcheck={false} value={key} onInput={(event) => setKey(event.currentTarget.value)} />
          <input aria-label="Value of the tag" placeholder="value" maxLength={5000} autocomplete="off" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          <button type="submit" disabled={busy}>
            Set
          </button>
        </form>
      )}
    </section>
  );
}
