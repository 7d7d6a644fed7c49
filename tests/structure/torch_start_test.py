#!/usr/bin/env python3
"""LibTorch's operators wait for somebody who asks for them (cli/compute/start): its initialisers register them by the functions of
`linac-compute`, else each start takes twice as long, and nothing else tells. And once asked for they are what they are without that, to the
last kernel but for those that are left out, also in the order in which TorchScript tries them, and for threads that ask at once.

usage: torch_start_test.py OPERATORS OPERATORS_AT_START"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("LINAC", ROOT / "build" / "linac")).resolve().with_name("linac-compute")
FUNCTIONS = ["torch7Library5_impl", "torch7Library4_defEON", "torch3jit11parseSchema", "c1010Dispatcher17findSchemaOrThrow", "c1010Dispatcher10findSchemaE",
             "c1010Dispatcher6findOp", "torch3jit18getAllOperatorsFor"]
# The schema that a kernel's own types say, which is only kept to be compared.
OF_TYPES = re.compile(r" :: (\(none\)|\(.*\) -> .*?) \[")


def bound_to(program: pathlib.Path) -> dict[str, set[str]]:
    """Whose functions LibTorch calls."""
    with tempfile.TemporaryDirectory() as folder:
        words = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{folder}/said", "LD_BIND_NOW": "1"}
        subprocess.run([program, "--version"], env={**os.environ, **words}, check=True, stdout=subprocess.DEVNULL, timeout=60)
        said = "".join(path.read_text() for path in pathlib.Path(folder).iterdir())
    found = re.findall(r"binding file \S*/libtorch_cpu\.so \[0\] to (\S+) \[0\]: normal symbol `(\w*)", said)
    return {function: {pathlib.Path(where).name for where, symbol in found if function in symbol} for function in FUNCTIONS}


def said(program: str, *words: str) -> list[str]:
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"FAILED: {program} {' '.join(words)}: exit status {done.returncode} {done.stderr[-300:]}")
    return [OF_TYPES.sub(" [", line) for line in done.stdout.splitlines()]


def main() -> None:
    for function, found in bound_to(PROGRAM).items():
        if found != {PROGRAM.name}:
            sys.exit(f"FAILED: LibTorch calls {function} of {sorted(found)}")
    print("ok    LibTorch registers its operators, and looks for them, by the program")
    plain, at_start = sys.argv[1:]
    for what, few in (("schemas", 20000), ("script", 3000)):
        whole, waited = said(plain, what), said(at_start, what)
        apart = [pair for pair in zip(whole, waited) if pair[0] != pair[1]]
        if apart or len(whole) != len(waited) or len(whole) < few:
            sys.exit(f"FAILED: {what}: {len(whole)} lines and {len(waited)}, {len(apart)} apart: {apart[:2]}")
        print(f"ok    {what}: {len(whole)} lines are the same")
    for words in (["asked", "script"], ["threads"]):
        whole, waited = said(plain, *words), said(at_start, *words)
        if whole != waited or not whole:
            sys.exit(f"FAILED: {words}: {len(whole)} lines and {len(waited)}: {whole[:1]} {waited[:1]}")
        print(f"ok    {' '.join(words)}: {len(whole)} lines are the same")
    if (waiting := int(said(at_start, "count")[0])) > 700 or int(said(plain, "count")[0]) < 3000:
        sys.exit(f"FAILED: {waiting} operators do not wait")
    print("ok    they wait")


if __name__ == "__main__":
    main()
