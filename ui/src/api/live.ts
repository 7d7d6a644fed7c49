// News of a run as they come. A browser keeps six connections to a server, so only the first few runs are listened to and the
// others are asked for again every few seconds: the caller sees no difference but the delay.

import { pointsOfEvent } from "./tracking.ts";
import type { Point } from "./types.ts";

export interface News {
  points?: (points: Map<string, Point[]>) => void;
  state?: (data: Record<string, unknown>) => void;
  log?: (data: Record<string, unknown>) => void;
  reset: () => void; // something was missed: load anew
}

const streamsMax = 3;
const pollMs = 5000;
let streams = 0;

/** Until the function it returns is called. */
export function follow(run: string, news: News): () => void {
  if (streams >= streamsMax) {
    const timer = setInterval(() => document.hidden || news.reset(), pollMs);
    return () => clearInterval(timer);
  }
  streams++;
  const source = new EventSource(`/api/v1/runs/${encodeURIComponent(run)}/events`);
  let broken = false;
  const listen = (event: string, action: (data: string) => void) =>
    source.addEventListener(event, (message) => action((message as MessageEvent<string>).data));
  listen("points", (data) => news.points?.(pointsOfEvent(data)));
  listen("state", (data) => news.state?.(JSON.parse(data) as Record<string, unknown>));
  listen("log", (data) => news.log?.(JSON.parse(data) as Record<string, unknown>));
  listen("reset", () => news.reset());
  source.onerror = () => (broken = true);
  source.onopen = () => {
    if (broken) news.reset();
    broken = false;
  };
  const again = setInterval(() => {
    if (source.readyState === EventSource.CLOSED) news.reset(); // refused: the browser does not try again by itself
  }, pollMs);
  return () => {
    source.close();
    clearInterval(again);
    streams--;
  };
}
