// A run's files, which its process has written and clients have put there, and its log.

import { ApiError, below, getJson, getResponse, url } from "./client.ts";
import { integer, list, text, type Json } from "./json.ts";

export interface FileEntry {
  path: string;
  bytes: number;
  folder: boolean;
  href: string;
}

const runPath = (run: string) => `/api/v1/runs/${encodeURIComponent(run)}`;

/** What lies in a folder of the run's files, "" for the whole. */
export async function files(run: string, folder: string, signal?: AbortSignal): Promise<FileEntry[]> {
  const json = await getJson<Json>(url(`${runPath(run)}/files`, { path: folder }), signal);
  return list(json["files"]).map((one) => {
    const path = text(one["path"]);
    return { path, bytes: integer(one["bytes"]), folder: one["folder"] === true, href: fileHref(run, path) };
  });
}

export function fileHref(run: string, path: string): string {
  return below(`${runPath(run)}/files`, path);
}

const shownBytesMax = 2_000_000;

/** A text file, cut if it is long. */
export async function textFile(href: string, signal?: AbortSignal, most = shownBytesMax): Promise<{ text: string; cut: boolean }> {
  const whole = await (await getResponse(href, signal)).text();
  return { text: whole.slice(0, most), cut: whole.length > most };
}

const lineBytesMax = 16 << 20;
const busyMsMax = 12; // then the page has its turn

/** Hands over the whole lines of a text file from a byte on, as they come; gives the byte behind the last one. */
export async function readLines(href: string, from: number, take: (line: string) => void, signal: AbortSignal): Promise<number> {
  let response: Response;
  try {
    response = await getResponse(href, signal, { Range: `bytes=${from}-`, Accept: "*/*" });
  } catch (error) {
    if (error instanceof ApiError && error.status === 416) return from; // there is nothing new
    throw error;
  }
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let at = from;
  let rest = new Uint8Array();
  let since = performance.now();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return at;
    const end = value.lastIndexOf(10) + 1;
    if (end === 0) {
      rest = joined(rest, value);
      if (rest.length > lineBytesMax) throw new Error(`${href}: a line of more than ${lineBytesMax >> 20} MiB`);
      continue;
    }
    const whole = joined(rest, value.subarray(0, end));
    rest = value.slice(end);
    at += whole.length;
    for (const line of decoder.decode(whole).split("\n")) {
      take(line);
      if (performance.now() - since < busyMsMax) continue;
      await new Promise((resolve) => setTimeout(resolve));
      signal.throwIfAborted();
      since = performance.now();
    }
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

export interface LogPart {
  text: string;
  from: number; // its first byte
  next: number; // the byte behind it
}

/** What there is from a byte on, in pieces of a MiB; empty at the end. A negative `from` counts from the end. */
export async function log(run: string, from: number, signal?: AbortSignal): Promise<LogPart> {
  const response = await getResponse(url(`${runPath(run)}/log`, { from }), signal);
  const start = Number(response.headers.get("Linac-Log-From") ?? from);
  return { text: await response.text(), from: start, next: Number(response.headers.get("Linac-Log-End") ?? start) };
}
