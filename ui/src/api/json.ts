// Fields of an answer, which may be missing or of another type: they become something harmless then.

export type Json = Record<string, unknown>;

export const text = (value: unknown): string => (value === undefined || value === null ? "" : String(value));
export const integer = (value: unknown): number => (Number.isFinite(Number(value)) ? Number(value) : 0);
export const object = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(object) : []);
export const words = (value: unknown): string[] => (Array.isArray(value) ? value.map(text) : []);
export const texts = (value: unknown): Record<string, string> => Object.fromEntries(Object.entries(object(value)).map(([key, one]) => [key, text(one)]));
