#!/usr/bin/env python3
"""A CUDA source as C++ for the emulated GPU: rewrite.py SOURCE.cu OUT.cpp. What no macro can stand
for is written anew, line by line, so that messages name the lines of SOURCE:

    kernel<N><<<grid, block>>>(x)              Launch(grid, block).run("kernel<N>", kernel<N>, x)
    __shared__ float a[4][8];                  auto& a = shared_variable<float[4][8], 4>(line);
    extern __shared__ float4 a[];              float4* const a = dynamic_shared<float4>();
    void __launch_bounds__(N) kernel(...) {    void kernel(...) { check_launch_bounds(N);
"""

import pathlib
import re
import sys

EMULATION = "::linac::cuda_emulation::"


def closing(text: str, opening: int) -> int:
    """Where the bracket that opens at `opening` closes."""
    pairs = {"(": ")", "<": ">"}
    here, there, depth = text[opening], pairs[text[opening]], 0
    for i in range(opening, len(text)):
        depth += (text[i] == here) - (text[i] == there)
        if depth == 0:
            return i
    sys.exit(f"no {there} for the {here} in: {text[opening:opening + 60]!r}")


def kernel_name(before: str) -> str:
    """The name, with its template arguments, that the text ends in."""
    match = re.search(r"([\w:]+(?:<[^;{}<>]*>)?)\s*$", before)
    return match.group(1) if match else sys.exit(f"<<< without a kernel behind: {before[-60:]!r}")


def launches(text: str) -> str:
    out, at = "", 0
    while (start := text.find("<<<", at)) >= 0:
        end = text.find(">>>", start)
        arguments = text.find("(", end)
        if end < 0 or text[end + 3 : arguments].strip():
            sys.exit(f"<<< without >>>( : {text[start:start + 60]!r}")
        kernel = kernel_name(text[at:start])
        before = text[at:start].rstrip()[: -len(kernel)]
        configuration = text[start + 3 : end] + text[end + 3 : arguments]
        comma = "" if text[arguments + 1 :].lstrip().startswith(")") else ", "
        call = f'[](const auto&... parameters) {{ {kernel}(parameters...); }}{comma}'
        out += f'{before}{EMULATION}Launch({configuration}).run("{kernel}", {call}'
        at = arguments + 1
    return out + text[at:]


def shared(text: str) -> str:
    text = re.sub(r"extern\s+__shared__\s+(\w+)\s+(\w+)\s*\[\s*\]\s*;", rf"\1* const \2 = {EMULATION}dynamic_shared<\1>();", text)

    def variable(match: re.Match) -> str:
        align, kind, name, extents = match.groups()
        alignment = align or f"alignof({kind})"
        return f"auto& {name} = {EMULATION}shared_variable<{kind}{extents}, {alignment}>(__LINE__);"

    return re.sub(r"__shared__\s+(?:__align__\((\w+)\)\s+)?(\w+)\s+(\w+)((?:\[[^\]]+\])*)\s*;", variable, text)


def launch_bounds(text: str) -> str:
    while (start := text.find("__launch_bounds__(")) >= 0:
        end = closing(text, start + len("__launch_bounds__"))
        bounds = text[start + len("__launch_bounds__(") : end]
        parameters = text.find("(", end)
        body = closing(text, parameters) + 1
        if not text[body:].lstrip().startswith("{"):
            sys.exit(f"__launch_bounds__ away from a kernel's body: {text[start:start + 60]!r}")
        body = text.index("{", body) + 1
        text = f"{text[:start]}{text[end + 1:body]} {EMULATION}check_launch_bounds({bounds});{text[body:]}"
    return text


source, target = map(pathlib.Path, sys.argv[1:])
code = launch_bounds(shared(launches(source.read_text())))
target.write_text(f'#include <cuda_runtime.h>\n#line 1 "{source}"\n{code}')
