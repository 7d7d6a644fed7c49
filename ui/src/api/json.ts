// Fields of an answer, which may be missing or of another type: they become something harmless then.

export type Json = Record<string, unknown>;

export const text = (value: unknown): string => (value === undefined || value === null ? "" : String(value));
export const integer = (value: unknown): number => (Number.isFinite(Number(value)) ? Number(value) : 0);
/** NaN for what is no number; the record writes NaN and infinities as texts. */
export const number = (value: unknown): number => (typeof value === "number" || typeof value === "string" ? Number(value) : NaN);
export const object = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(object) : []);
export const words = (value: unknown): string[] => (Array.isArray(value) ? value.map(text) : []);
export const texts = (value: unknown): Record<string, string> => Object.fromEntries(Object.entries(object(value)).map(([key, one]) => [key, text(one)]));

/** Losses and metrics by name; one with parts has them by theirs, "total" is the whole. */
export type Measures = Record<string, number | Record<string, number>>;
const numbers = (json: Json): Record<string, number> => Object.fromEntries(Object.entries(json).map(([name, value]) => [name, number(value)]));
export const measures = (value: unknown): Measures =>
  Object.fromEntries(Object.entries(object(value)).map(([name, one]) => [name, typeof one === "object" ? numbers(object(one)) : number(one)]));

/** Numbers as the API writes them: JSON has no NaN and no infinities. */
export function numberFromJson(value: unknown): number {
  if (typeof value === "number") return value;
  if (value === "Infinity") return Infinity;
  if (value === "-Infinity") return -Infinity;
  return NaN;
}
