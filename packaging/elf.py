"""What ELF files want of the dynamic loader, and how to let them want less. By binutils; versions of symbols are forgotten here, as patchelf
leaves them among what a file needs."""

import pathlib
import re
import struct
import subprocess

SHT_GNU_VERNEED, SHT_GNU_VERSYM = 0x6FFFFFFE, 0x6FFFFFFF
VER_NDX_GLOBAL = 1


def output(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def is_elf(path: pathlib.Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(path: pathlib.Path) -> dict[str, pathlib.Path | None]:
    """All that the loader of this machine takes for it: name and place, None where there is none."""
    found = {}
    for line in output("ldd", path).splitlines():
        if match := re.match(r"\s*(\S+) => (not found|/\S+)", line):
            found[match[1]] = None if match[2] == "not found" else pathlib.Path(match[2])
    return found


def wanted(path: pathlib.Path) -> list[tuple[str, str]]:
    """Symbols that others must have: name and version ("" for none)."""
    symbols = []
    for line in output("objdump", "-T", path).splitlines():
        if match := re.search(r"\*UND\*\s+\S+\s+(?:\(?([A-Za-z]\S*?)\)?\s+)?(\S+)$", line):
            symbols.append((match[2], match[1] or ""))
    return symbols


def glibc_beyond(path: pathlib.Path, version: tuple[int, int]) -> dict[str, str]:
    """Symbols of a glibc that is newer than `version`, and theirs."""
    beyond = {}
    for name, of in wanted(path):
        if (match := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", of)) and (int(match[1]), int(match[2])) > version:
            beyond[name] = of
    return beyond


def forget(path: pathlib.Path, versions: set[str]) -> None:
    """The file wants symbols of these versions by their names alone, from whoever has them. System V ABI, "Linux Standard Base Core, 10.7 Symbol
    Versioning"; 64 bits, little endian."""
    data = bytearray(path.read_bytes())
    headers_at, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [headers_at + index * size for index in range(count)]

    def section(kind: int) -> tuple[int, int, int]:
        """Where it lies, its bytes, and the section of its names."""
        for at in sections:
            if struct.unpack_from("<I", data, at + 4)[0] == kind:
                return struct.unpack_from("<QQI", data, at + 24)
        raise SystemExit(f"{path}: no section of type {kind:#x}")

    need, _, names = section(SHT_GNU_VERNEED)
    names_at, = struct.unpack_from("<Q", data, sections[names] + 24)
    forgotten = set()
    while True:
        _, aux_count, _, aux_at, next_need = struct.unpack_from("<HHIII", data, need)
        kept = []
        for _ in range(aux_count):
            aux = need + aux_at
            _, _, index, name, next_aux = struct.unpack_from("<IHHII", data, aux)
            if data[names_at + name:data.index(b"\0", names_at + name)].decode() in versions:
                forgotten.add(index)
            else:
                kept.append(aux)
            aux_at += next_aux
        if not kept:
            raise SystemExit(f"{path}: of one library it wants nothing but {versions}")
        struct.pack_into("<H", data, need + 2, len(kept))
        struct.pack_into("<I", data, need + 8, kept[0] - need)
        for aux, following in zip(kept, kept[1:] + [kept[-1]]):
            struct.pack_into("<I", data, aux + 12, following - aux)
        if next_need == 0:
            break
        need += next_need
    begin, length, _ = section(SHT_GNU_VERSYM)
    for at in range(begin, begin + length, 2):
        if struct.unpack_from("<H", data, at)[0] & 0x7FFF in forgotten:
            struct.pack_into("<H", data, at, VER_NDX_GLOBAL)
    path.write_bytes(data)
