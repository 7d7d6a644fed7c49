// One version of a model: what it takes and gives, its figures, its file with the checksum, and where it comes from.

import { useState } from "preact/hooks";
import { artifactsIn, deleteVersionTag, describeVersion, setVersionTag } from "../api/registry.ts";
import type { ModelVersion } from "../api/types.ts";
import { bytes, shortest, time } from "../format.ts";
import { artifactHref, factsOf, folderOf, pageOfAddress, type Port } from "../model_facts.ts";
import { useAction } from "../parts/action.tsx";
import { Copy, Empty } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { hashOf } from "../router.ts";

function Ports({ title, ports }: { title: string; ports: readonly Port[] }) {
  if (ports.length === 0) return null;
  return (
    <Table label={title} head={[title, "shape of an event"]}>
      {ports.map((port) => (
        <tr key={port.name}>
          <th scope="row">{port.name}</th>
          <td>{port.shape || "a number"}</td>
        </tr>
      ))}
    </Table>
  );
}

function FileCard({ one }: { one: ModelVersion }) {
  const facts = factsOf(one);
  const folder = folderOf(one);
  const { value } = useLoaded((signal) => (folder ? artifactsIn(folder, signal) : Promise.resolve([])), [folder]);
  const files = value ?? [];
  return (
    <section class="card">
      <header>
        <h2>File</h2>
      </header>
      <dl class="pairs">
        {facts.file && (
          <div>
            <dt>file</dt>
            <dd>
              {folder ? (
                <a href={artifactHref(folder, facts.file)} download={facts.file}>
                  Download {facts.file}
                </a>
              ) : (
                facts.file
              )}
              {Number.isFinite(facts.bytes) && <small> {bytes(facts.bytes)}</small>}
            </dd>
          </div>
        )}
        {facts.checksum && (
          <div>
            <dt>checksum</dt>
            <dd class="with-button">
              <code>{facts.checksum}</code>
              <Copy text={facts.checksum} />
            </dd>
          </div>
        )}
        <div>
          <dt>address</dt>
          <dd class="with-button">
            <code>{`catalog://${one.model}/${one.version}`}</code>
            <Copy text={`catalog://${one.model}/${one.version}`} />
          </dd>
        </div>
        <div>
          <dt>lies at</dt>
          <dd>{one.source || "–"}</dd>
        </div>
      </dl>
      {files.filter((file) => file.path !== facts.file).length > 0 && (
        <ul class="files">
          {files
            .filter((file) => file.path !== facts.file)
            .map((file) => (
              <li key={file.path}>
                {file.folder ? (
                  <span>{file.path}/</span>
                ) : (
                  <a href={artifactHref(folder, file.path)} download={file.path}>
                    {file.path}
                  </a>
                )}
                <span class="push small">{file.folder ? "" : bytes(file.bytes)}</span>
              </li>
            ))}
        </ul>
      )}
    </section>
  );
}

function VersionTags({ one, change, again }: { one: ModelVersion; change: boolean; again: () => void }) {
  const { act, busy, shown } = useAction(again);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const { tags } = factsOf(one);
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
              <span>{text}</span>
              {change && (
                <button type="button" class="quiet" disabled={busy} aria-label={`Remove tag ${name}`} onClick={() => act(() => deleteVersionTag(one, name))}>
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
              setVersionTag(one, key.trim(), value).then(() => {
                setKey("");
                setValue("");
              }),
            );
          }}
        >
          <input aria-label="Tag" placeholder="units" required maxLength={250} pattern="(?!mlflow\.|linac\.).*\S.*" title="a name; those that begin with mlflow. or linac. are not for people" size={10} autocomplete="off" spellcheck={false} value={key} onInput={(event) => setKey(event.currentTarget.value)} />
          <input aria-label="Value of the tag" placeholder="GeV" maxLength={5000} autocomplete="off" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          <button type="submit" disabled={busy}>
            Set
          </button>
        </form>
      )}
    </section>
  );
}

function Description({ one, change, again }: { one: ModelVersion; change: boolean; again: () => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const { act, busy, shown } = useAction(() => {
    setTyped(null);
    again();
  });
  if (typed === null)
    return (
      <p>
        {one.description || <span class="small">No description.</span>}{" "}
        {change && (
          <button type="button" class="quiet" aria-label="Change the description" onClick={() => setTyped(one.description)}>
            ✎
          </button>
        )}
      </p>
    );
  return (
    <form
      class="controls"
      onSubmit={(event) => {
        event.preventDefault();
        act(() => describeVersion(one, typed.trim()));
      }}
    >
      <input aria-label="Description" maxLength={1000} size={60} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
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

export function VersionPage({ one, change, again }: { one: ModelVersion; change: boolean; again: () => void }) {
  const facts = factsOf(one);
  const parent = pageOfAddress(facts.from);
  return (
    <>
      <p class="facts">
        {one.stage !== "None" && <span class={`chip stage-${one.stage.toLowerCase()}`}>{one.stage}</span>}
        {one.aliases.map((alias) => (
          <span key={alias} class="chip">
            @{alias}
          </span>
        ))}
        registered {time(one.created)}
        {one.user && ` by ${one.user}`}
        {one.run && (
          <>
            {" from the run "}
            <a href={hashOf(["runs", one.run])}>{one.run.slice(0, 8)}</a>
          </>
        )}
        {facts.from && (
          <>
            {", trained on from "}
            {parent ? <a href={hashOf(parent)}>{facts.from}</a> : facts.from}
          </>
        )}
        {facts.linac && `, linac ${facts.linac}`}
      </p>
      <Description one={one} change={change} again={again} />
      <div class="columns">
        {(facts.inputs.length > 0 || facts.outputs.length > 0) && (
          <section class="card">
            <header>
              <h2>Schema</h2>
            </header>
            <Ports title="inputs" ports={facts.inputs} />
            <Ports title="outputs" ports={facts.outputs} />
          </section>
        )}
        {facts.figures.length > 0 && (
          <section class="card">
            <header>
              <h2>Figures of the last epoch</h2>
            </header>
            <Table label="Figures" head={["metric", { numeric: "train" }, { numeric: "test" }]}>
              {facts.figures.map((figure) => (
                <tr key={figure.name}>
                  <th scope="row">{figure.name}</th>
                  <td class="numeric">{shortest(figure.train)}</td>
                  <td class="numeric">{shortest(figure.test)}</td>
                </tr>
              ))}
            </Table>
          </section>
        )}
        <FileCard one={one} />
        <VersionTags one={one} change={change} again={again} />
      </div>
    </>
  );
}
