// The pictures of one or several runs: one epoch of all of them side by side, or all epochs of each.

import { useMemo, useState } from "preact/hooks";
import { files, type FileEntry } from "../api/folders.ts";
import type { Run } from "../api/types.ts";
import { pictureAt, placeOf, seriesOf, type Series } from "../pictures.ts";
import { Empty, Failure } from "../parts/basics.tsx";
import { useLoaded } from "../parts/hooks.ts";
import { hashOf, replaceQuery, type Place } from "../router.ts";

const atOnce = 4; // requests
const folder = "images"; // where a training puts them
const stripMost = 200;

async function picturesOf(runs: readonly Run[], signal: AbortSignal): Promise<FileEntry[][]> {
  const found = new Array<FileEntry[]>(runs.length);
  let next = 0;
  const work = async () => {
    while (next < runs.length) {
      const place = next++;
      found[place] = await files(runs[place]!.id, folder, signal).catch(() => []);
      signal.throwIfAborted();
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, runs.length) }, work));
  return found;
}

function Picture({ file, words }: { file: FileEntry; words: string }) {
  return (
    <a href={file.href} target="_blank" rel="noreferrer">
      <img src={file.href} alt={words} loading="lazy" />
      <span>{words}</span>
    </a>
  );
}

/** All pictures of a series that a run has, in their order. */
function strip(of: readonly FileEntry[], series: Series): FileEntry[] {
  return of
    .filter((file) => !file.folder && placeOf(file.path).series === series.name)
    .sort((a, b) => placeOf(a.path).number - placeOf(b.path).number)
    .slice(-stripMost);
}

export function Pictures({ runs, place }: { runs: readonly Run[]; place: Place }) {
  const { value, error, again } = useLoaded((signal) => picturesOf(runs, signal), [runs.map((run) => run.id + run.state).join(",")]);
  const all = useMemo(() => seriesOf(value ?? []), [value]);
  const series = all.find((one) => one.name === place.query.get("picture")) ?? all[0];
  const last = series ? series.numbers.length - 1 : -1;
  const asked = Number(place.query.get("at") || NaN);
  const [moved, setMoved] = useState<number | null>(null); // while the slider is held
  const found = series ? series.numbers.filter((number) => number <= asked).length - 1 : -1;
  const index = Math.min(moved ?? (Number.isNaN(asked) ? last : Math.max(found, 0)), last);
  const every = place.query.get("every") === "1";
  if (error) return <Failure error={error} again={again} />;
  if (!value) return <Empty>loading…</Empty>;
  if (!series) return <Empty>No pictures. A training leaves them in its folder {folder}.</Empty>;
  const number = series.numbers[index] ?? NaN;
  return (
    <section class="card">
      <div class="controls">
        <label>
          Picture
          <select value={series.name} onChange={(event) => replaceQuery({ picture: event.currentTarget.value, at: "" })}>
            {all.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
                {one.numbers.length > 0 ? ` (${one.numbers.length})` : ""}
              </option>
            ))}
          </select>
        </label>
        {last > 0 && !every && (
          <label>
            Number
            <input type="range" min={0} max={last} value={index} aria-valuetext={String(number)} onInput={(event) => setMoved(Number(event.currentTarget.value))} onChange={(event) => { setMoved(null); replaceQuery({ at: String(series.numbers[Number(event.currentTarget.value)]) }); }} />
            <output>{number}</output>
          </label>
        )}
        {last > 0 && (
          <label>
            <input type="checkbox" checked={every} onChange={(event) => replaceQuery({ every: event.currentTarget.checked ? "1" : "" })} /> all of them
          </label>
        )}
      </div>
      {every && last > 0 ? (
        runs.map((run, i) => (
          <section key={run.id} aria-label={run.name}>
            {runs.length > 1 && (
              <h2>
                <a href={hashOf(["runs", run.id])}>{run.name}</a>
              </h2>
            )}
            <div class="pictures">
              {strip(value[i]!, series).map((file) => (
                <Picture key={file.path} file={file} words={String(placeOf(file.path).number)} />
              ))}
            </div>
          </section>
        ))
      ) : (
        <div class={`pictures ${runs.length === 1 ? "alone" : "beside"}`}>
          {runs.map((run, i) => {
            const picture = pictureAt(value[i]!, series.name, number);
            if (!picture) return null;
            const other = !Number.isNaN(picture.number) && picture.number !== number;
            return <Picture key={run.id} file={picture.file} words={`${run.name}${Number.isNaN(picture.number) ? "" : `, ${picture.number}`}${other ? ` (has no ${number})` : ""}`} />;
          })}
        </div>
      )}
    </section>
  );
}
