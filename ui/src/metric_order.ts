// The order of metrics on a page: what is learned first, how fast it goes next, accounts of time and machines last.

const speed = /^(?:epoch_seconds|events_per_s|learning_rate|workers)$/;
const accounts = /^(?:time|system|parts|workers|cost)\//;

const rank = (key: string) => (accounts.test(key) ? 2 : speed.test(key) ? 1 : 0);

export function byInterest(a: string, b: string): number {
  return rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true });
}
