// The language of searches, as far as the page has to know it: words alone look for names, and a fault is shown where it is.

const comparison = /[=<>()]|\b(?:like|ilike|in|is|not)\b/i;

function literal(text: string): string {
  return `'${text.replace(/'/g, "''")}'`;
}

/** A name that may hold anything, as the language quotes it. */
export function quoted(name: string): string {
  return /^[a-z_][a-z0-9_/]*$/i.test(name) ? name : `\`${name.replace(/`/g, "``")}\``;
}

/** What the server is asked: `typed` if it compares something, else all runs with these words in their names. */
export function filterOf(typed: string): string {
  const text = typed.trim();
  if (text === "" || comparison.test(text)) return text;
  return text
    .split(/\s+/)
    .map((word) => `attributes.run_name ILIKE ${literal(`%${word}%`)}`)
    .join(" AND ");
}

export interface Fault {
  before: string;
  at: string; // the letter at which the server stumbled; a space at the end
  behind: string;
  message: string;
}

/** Splits `filter` at the place that the message names ("... position 12: ..."; it counts bytes from 1); null if it names none. */
export function faultOf(filter: string, message: string): Fault | null {
  const found = /position (\d+): ?([^]*)/.exec(message);
  if (!found) return null;
  const letters = [...filter];
  const encoder = new TextEncoder();
  let left = Number(found[1]) - 1;
  let place = 0;
  while (place < letters.length && left > 0) left -= encoder.encode(letters[place++]!).length;
  return { before: letters.slice(0, place).join(""), at: letters[place] ?? " ", behind: letters.slice(place + 1).join(""), message: found[2]! };
}
