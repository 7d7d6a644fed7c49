// Numbers, times and sizes as people read them.

export function number(value: number, digits = 5): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return minus(value.toString());
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = value.toExponential(Math.max(digits - 2, 0)).split("e");
    return minus(`${mantissa!.includes(".") ? mantissa!.replace(/\.?0+$/, "") : mantissa}e${Number(exponent)}`);
  }
  return minus(String(Number(value.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1)))));
}

const written = /^[-+]?(?=\d|\.\d)(\d*\.?\d*)(?:e[-+]?\d+)?$/i;
const digitsCertain = 15; // with fewer somebody meant what is written

/** The shortest text of the same double, for one that was written with all its digits: 0.0010000000000000000208 is 0.001. */
export function shortest(text: string): string {
  const digits = written.exec(text)?.[1]?.replace(".", "").replace(/^0+/, "") ?? "";
  if (digits.length <= digitsCertain || !/[.e]/i.test(text)) return text;
  const short = String(Number(text));
  return short.length < text.length && Number.isFinite(Number(text)) ? short : text;
}

function minus(text: string): string {
  return text.replace(/-/g, "−");
}

export function duration(ms: number): string {
  if (!(ms >= 0)) return "";
  const seconds = ms / 1000;
  if (seconds < 1) return `${Math.round(ms)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${pad(Math.floor(seconds % 60))} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${pad(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

/** In the reader's own time zone. */
export function time(ms: number): string {
  if (!(ms > 0)) return "";
  const at = new Date(ms);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

export function ago(ms: number, now: number): string {
  if (!(ms > 0)) return "";
  const seconds = Math.max(0, (now - ms) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 30 * 86400) return `${Math.floor(seconds / 86400)} d ago`;
  return time(ms).slice(0, 10);
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  for (const unit of ["kB", "MB", "GB", "TB"]) {
    size /= 1000;
    if (size < 999.5 || unit === "TB") return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${unit}`;
  }
  return "";
}

/** "16 cores, 64 GiB, 2 GPUs"; memory of 0 is not told. */
export function resources({ cores, memoryMb, gpus }: { cores: number; memoryMb: number; gpus: number }): string {
  return [`${cores} ${cores === 1 ? "core" : "cores"}`, memoryMb ? `${memoryMb >= 10240 ? Math.round(memoryMb / 1024) + " GiB" : memoryMb + " MiB"}` : "", gpus ? `${gpus} ${gpus === 1 ? "GPU" : "GPUs"}` : ""].filter(Boolean).join(", ");
}
