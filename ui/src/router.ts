// Pages are named by the part of the address behind '#': "#/runs/ID?tab=log". So the server serves one page, and a link can be sent.

import { useEffect, useState } from "preact/hooks";

export interface Place {
  parts: string[]; // decoded
  query: URLSearchParams;
}

export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { parts, query: new URLSearchParams(query) };
}

export function hashOf(parts: readonly string[], query: Record<string, string> | URLSearchParams = {}): string {
  const search = new URLSearchParams(query);
  for (const [name, value] of [...search]) if (value === "") search.delete(name);
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Names that may hold anything, as one word of a query. */
export const ofWords = (words: readonly string[]): string => words.map(encodeURIComponent).join(",");

/** The names of such a word; none of one that somebody has cut. */
export function wordsOf(text: string): string[] {
  try {
    return text.split(",").filter(Boolean).map(decodeURIComponent);
  } catch {
    return [];
  }
}

export function go(hash: string): void {
  location.hash = hash;
}

/** Changes the query of the page without an entry in the browser's history; gives the new one. */
export function replaceQuery(changes: Record<string, string>): string {
  const { parts, query } = placeOf(location.hash);
  for (const [name, value] of Object.entries(changes)) query.set(name, value);
  history.replaceState(null, "", hashOf(parts, query));
  dispatchEvent(new HashChangeEvent("hashchange"));
  return placeOf(location.hash).query.toString();
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash));
  useEffect(() => {
    const changed = () => setPlace(placeOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}
