// What the form of the queue page says, as a request to the service: the words of `linac submit`. Pure.

export interface Draft {
  job: string; // the text of a job file
  directory: string;
  name: string;
  experiment: string;
  set: string; // key=value, one a line
  priority: string;
  cores: string;
  time: string; // "12h"
  on: string; // "pilots": by agents; a site's name; else by the service's host
}

export const emptyDraft: Draft = { job: "", directory: "", name: "", experiment: "", set: "", priority: "", cores: "", time: "", on: "" };

const unitSeconds: Record<string, number> = { "": 1, s: 1, m: 60, h: 3600, d: 86400 };

/** Of "90", "90s", "30m", "12h", "2d"; 0 of nothing. */
export function secondsOf(text: string): number {
  const [, digits, unit] = /^(\d{1,9}) ?([smhd]?)$/.exec(text.trim()) ?? [];
  if (text.trim() === "") return 0;
  if (digits === undefined) throw new Error(`${text}: no duration; write e.g. 90s, 30m, 12h or 2d`);
  return Number(digits) * unitSeconds[unit!]!;
}

function whole(text: string, what: string): number {
  if (!/^[-+]?\d{0,9}$/.test(text.trim())) throw new Error(`${what}: ${text} is no whole number`);
  return Number(text);
}

/** Settings that differ, as they stand. */
export const settingsOf = (draft: Draft): string[] => draft.set.split("\n").map((line) => line.trim()).filter(Boolean);

/** The request, or an Error that says what cannot be understood. */
export function submissionOf(draft: Draft): Record<string, unknown> {
  if (draft.job.trim() === "") throw new Error("there is no job yet; paste one, or choose its file");
  return {
    job: draft.job,
    directory: draft.directory.trim(),
    name: draft.name.trim(),
    experiment: draft.experiment.trim(),
    set: settingsOf(draft),
    priority: whole(draft.priority, "priority"),
    cores: whole(draft.cores, "cores"),
    seconds_max: secondsOf(draft.time),
    on: draft.on,
  };
}
