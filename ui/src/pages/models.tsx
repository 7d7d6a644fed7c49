// The model catalog: models, their versions with stages and aliases.

import { useState } from "preact/hooks";
import { deleteAlias, modelOf, models, setAlias, stages, transition, versionsOf } from "../api/registry.ts";
import type { Me, Model, ModelVersion } from "../api/types.ts";
import { mayChangeOf } from "../api/visibility.ts";
import { ago, shortest, time } from "../format.ts";
import { factsOf } from "../model_facts.ts";
import { useAction } from "../parts/action.tsx";
import { Empty, Failure, Pairs } from "../parts/basics.tsx";
import { useLoaded, useNow, useSettled } from "../parts/hooks.ts";
import { Table } from "../parts/table.tsx";
import { VisibilityMark, VisibilitySwitch } from "../parts/visibility.tsx";
import { hashOf, type Place } from "../router.ts";
import { VersionPage } from "./model_version.tsx";

function Models() {
  const [word, setWord] = useState("");
  const settled = useSettled(word, 250);
  const { value, error, again } = useLoaded((signal) => models(settled, signal), [settled]);
  const now = useNow(10000);
  return (
    <main class="page">
      <header class="title">
        <h1>Models</h1>
        <input id="filter" class="push" type="search" placeholder="name" aria-label="Find models" value={word} onInput={(event) => setWord(event.currentTarget.value)} />
      </header>
      <Failure error={error} again={again} />
      {value?.items.length === 0 && <Empty>{settled ? "No model fits." : "No models are registered. `linac models register` does it, and so can any MLflow client."}</Empty>}
      <ul class="models">
        {value?.items.map((model) => (
          <li key={model.name} class="card">
            <a href={hashOf(["models", model.name])}>{model.name}</a> {model.visibility === "private" && <VisibilityMark visibility="private" />}
            <span class="push small" title={time(model.updated)}>
              {ago(model.updated, now)}
            </span>
            <p>{model.description}</p>
            <p>
              {Object.entries(model.aliases).map(([alias, of]) => (
                <span key={alias} class="chip">
                  @{alias} → {of}
                </span>
              ))}
              {model.latest.map((one) => (
                <span key={one.stage} class={`chip stage-${one.stage.toLowerCase()}`}>
                  {one.stage === "None" ? "latest" : one.stage} {one.version}
                </span>
              ))}
            </p>
          </li>
        ))}
      </ul>
      {value?.next && <p class="note">There are more; the search finds them.</p>}
    </main>
  );
}

/** The few that say most: of the test, as far as there are any. */
function figuresOf(one: ModelVersion): string {
  const { figures } = factsOf(one);
  return figures.slice(0, 3).map((figure) => `${figure.name} ${shortest(figure.test || figure.train)}`).join(", ");
}

function Version({ one, mayChange, changed }: { one: ModelVersion; mayChange: boolean; changed: () => void }) {
  const { act, busy, shown } = useAction(changed);
  const [alias, setAliasText] = useState("");
  return (
    <tr>
      <th scope="row">
        <a href={hashOf(["models", one.model, one.version])}>{one.version}</a>
      </th>
      <td>
        {mayChange ? (
          <select aria-label={`Stage of version ${one.version}`} disabled={busy} value={one.stage} onChange={(event) => { const stage = event.currentTarget.value; act(() => transition(one.model, one.version, stage)); }}>
            {stages.map((stage) => (
              <option key={stage}>{stage}</option>
            ))}
          </select>
        ) : (
          one.stage
        )}
      </td>
      <td>
        {one.aliases.map((name) => (
          <span key={name} class="chip">
            @{name}
            {mayChange && (
              <button type="button" class="quiet" aria-label={`Remove alias ${name}`} onClick={() => act(() => deleteAlias(one.model, name))}>
                ✕
              </button>
            )}
          </span>
        ))}
        {mayChange && (
          <form
            class="inline"
            onSubmit={(event) => {
              event.preventDefault();
              act(() => setAlias(one.model, alias.trim(), one.version).then(() => setAliasText("")));
            }}
          >
            <input placeholder="alias" aria-label={`New alias of version ${one.version}`} size={8} required value={alias} onInput={(event) => setAliasText(event.currentTarget.value)} />
            <button type="submit" aria-label={`Add alias to version ${one.version}`}>
              +
            </button>
          </form>
        )}
        {shown}
      </td>
      <td>{one.status === "READY" ? "" : one.status}</td>
      <td>{figuresOf(one)}</td>
      <td>{one.run && <a href={hashOf(["runs", one.run])}>{one.run.slice(0, 8)}</a>}</td>
      <td>{time(one.created)}</td>
      <td class="why">{one.description}</td>
    </tr>
  );
}

async function load(name: string, signal: AbortSignal): Promise<{ model: Model; versions: ModelVersion[] }> {
  const [model, versions] = await Promise.all([modelOf(name, signal), versionsOf(name, signal)]);
  if (!model) throw new Error(`No model is called ${name}.`);
  return { model, versions };
}

function OneModel({ name, version, me }: { name: string; version: string | undefined; me: Me }) {
  const { value, error, again } = useLoaded((signal) => load(name, signal), [name]);
  const chosen = value?.versions.find((one) => one.version === version);
  return (
    <main class="page">
      <header class="title">
        <h1>
          <a href="#/models">Models</a> / {version ? <a href={hashOf(["models", name])}>{name}</a> : name}
          {version && ` / ${version}`}
        </h1>
        {value && <VisibilitySwitch what="models" id={name} owner={value.model.owner} visibility={value.model.visibility} me={me} changed={again} />}
      </header>
      <Failure error={error} again={again} />
      {value && version !== undefined && (chosen ? <VersionPage key={version} one={chosen} change={mayChangeOf(me, value.model.owner)} again={again} /> : <Empty>{name} has no version {version}.</Empty>)}
      {value && version === undefined && (
        <>
          {value.model.description && <p>{value.model.description}</p>}
          <Table card label="Versions" head={["Version", "Stage", "Aliases", "Status", "Figures", "Run", "Made", "Description"]}>
            {value.versions.map((one) => (
              <Version key={one.version} one={one} mayChange={mayChangeOf(me, value.model.owner)} changed={again} />
            ))}
          </Table>
          {value.versions.length === 0 && <Empty>No versions yet.</Empty>}
          {Object.keys(value.model.tags).length > 0 && <Pairs title="Tags" pairs={Object.entries(value.model.tags)} empty="" />}
        </>
      )}
    </main>
  );
}

export function ModelsPage({ place, me }: { place: Place; me: Me }) {
  const name = place.parts[1];
  return name ? <OneModel key={name} name={name} version={place.parts[2]} me={me} /> : <Models />;
}
