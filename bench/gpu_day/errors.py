"""What a log says went wrong: of each kind of error the first one, in few words."""

import re
import signal

# In the order in which a line is asked.
KINDS = {
    "missing": r"left out: no ",
    "time": r"no answer in time",
    "disk": r"No space left on device|Disk quota exceeded",
    "memory": r"out of memory|bad_alloc|MemoryError|Cannot allocate memory|ALLOC_FAILED",
    "load": r"cannot be loaded|while loading shared libraries|undefined symbol|no GPU can be used|driver version is insufficient|no kernel image is available"
            r"|finds no CUDA|ImportError|ModuleNotFoundError|\[ SKIPPED \]|: Skipped\b",
    "kernel": r"CUDA error|CUDNN_STATUS|CUBLAS_STATUS|illegal memory access|unspecified launch failure|misaligned address|\[cuda\] ",
    "build": r"(^|[ :])(fatal )?error( *:|:| [A-Z]*\d+:)|ptxas (fatal|error)|undefined reference|multiple definition",
    "numbers": r": Failure\b|[Nn]ot finite|DIFFERS",
    "end": r" failed: ",
}
QUOTED = "  | "  # begins what stands behind an error that is told already
# What a part can also end with: time (its limit), crash (a signal), end (another exit status than 0).
WORDS = 300


def errors_of(log: list[str], status: int) -> dict[str, str]:
    """Of a part that has failed. `status`: as subprocess has it, negative for a signal."""
    found: dict[str, str] = {}
    for at, line in enumerate(log):
        # A failure of GoogleTest is told in the lines behind it.
        lines = log[at:at + 6] if line.rstrip().endswith((": Failure", ": Skipped")) else [line]
        end = next((i for i, word in enumerate(lines) if i and (not word.strip() or re.match(r"\[[-= ]", word))), len(lines))
        words = " ".join(" ".join(lines[:end]).split())
        kind = next((kind for kind, pattern in KINDS.items() if re.search(pattern, words)), None)
        if kind and not line.startswith(QUOTED):
            found.setdefault(kind, words[:WORDS])
    if status < 0:
        name = signal.Signals(-status).name
        found.setdefault("memory" if name == "SIGKILL" else "crash", f"ended by {name}" + (", as the system does without memory" if name == "SIGKILL" else ""))
    last = next((line.strip() for line in reversed(log) if line.strip()), "no word")
    return found or {"end": f"exit status {status}: {last}"[:WORDS]}
