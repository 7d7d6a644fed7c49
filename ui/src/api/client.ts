// Requests to the service this page came from. The session is a cookie that scripts do not see; what changes something carries
// its CSRF token. A refusal becomes an ApiError with the server's own words.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly detail: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

let csrf = "";
let onLoggedOut: () => void = () => {};

export function setCsrf(token: string): void {
  csrf = token;
}

/** `action` is called when the service no longer knows who is asking. */
export function whenLoggedOut(action: () => void): void {
  onLoggedOut = action;
}

export function url(path: string, query: Record<string, string | number | undefined | readonly string[]> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** A path below a route whose rest is a file name: each part is encoded, the slashes stay. */
export function below(path: string, name: string): string {
  return `${path}/${name.split("/").map(encodeURIComponent).join("/")}`;
}

async function refusal(response: Response): Promise<ApiError> {
  let body: Record<string, unknown> = {};
  try {
    body = (await response.json()) as Record<string, unknown>;
  } catch {
    // not every failure comes from the service itself: a proxy answers with a page
  }
  const text = body["detail"] ?? body["message"] ?? `${response.status} ${response.statusText}`;
  return new ApiError(response.status, String(body["code"] ?? body["error_code"] ?? ""), String(text), body);
}

async function request(method: string, path: string, body?: unknown, signal?: AbortSignal, more: Record<string, string> = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) headers["X-CSRF-Token"] = csrf;
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null, credentials: "same-origin" });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "UNREACHABLE", "the service does not answer; is `linac serve` running?");
  }
  if (response.ok) return response;
  const error = await refusal(response);
  if (error.status === 401) onLoggedOut();
  throw error;
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await request("GET", path, undefined, signal)).json()) as T;
}

export async function getResponse(path: string, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<Response> {
  return request("GET", path, undefined, signal, headers);
}

/** `body` null: none at all. */
export async function send<T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const text = await (await request(method, path, body === null ? undefined : (body ?? {}), signal)).text();
  return (text ? JSON.parse(text) : {}) as T;
}
