// Steps of which a run's metrics.jsonl has lost lines, as the run's tag tells them: "7-9,12". Pure.

export interface LostSteps {
  first: number;
  last: number;
}

/** None where there is no such tag, or somebody has written something else into it. */
export function lostSteps(tags: Readonly<Record<string, string>>): LostSteps[] {
  const text = tags["linac.lost_steps"] ?? "";
  if (!/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(text)) return [];
  return text.split(",").map((one) => {
    const [first, last = first] = one.split("-").map(Number) as [number, number?];
    return { first, last };
  });
}

const wordsMax = 5;

/** "step 4, steps 7 to 9 and 3 more stretches" */
export function lostInWords(lost: readonly LostSteps[]): string {
  const words = lost.slice(0, wordsMax).map(({ first, last }) => (first === last ? `step ${first}` : `steps ${first} to ${last}`));
  const more = lost.length - words.length;
  return words.join(", ") + (more > 0 ? ` and ${more} more stretch${more > 1 ? "es" : ""}` : "");
}
