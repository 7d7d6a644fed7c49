#!/usr/bin/env python3
"""Showers of a model in a program of somebody else: examples/fast_simulation is compiled with the public header alone, and draws the showers of
`linac generate`, by one thread and by several; what goes wrong is told, from C too.

    fast_simulation_test.py BUILD       LINAC names the program"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

from lib.runs import LINAC, ROOT

MODEL = ROOT / "models/cell_chain-clic.chain"
OK, BEYOND, ROOM, FILE, FAILED = range(5)


class Cell(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int32), ("y", ctypes.c_int32), ("layer", ctypes.c_int32), ("energy_gev", ctypes.c_float)]


def compile_example(folder: pathlib.Path, library: pathlib.Path) -> pathlib.Path:
    (header := folder / "include/linac/fastsim").mkdir(parents=True)
    shutil.copy(ROOT / "src/linac/model/fastsim/showers.h", header)
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{folder / 'include'}"]
    (folder / "use.c").write_text("#include <linac/fastsim/showers.h>\nint main(void) { return linac_showers_reason() == NULL; }\n")
    subprocess.run(["cc", "-std=c99", *warnings, folder / "use.c", library, "-o", folder / "use"], check=True)
    program = folder / "fast_simulation"
    subprocess.run(["c++", "-std=c++11", "-O1", "-pthread", *warnings, ROOT / "examples/fast_simulation/fast_simulation.cpp", library,
                    f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
    return program


def images(program: pathlib.Path, seed: int, threads: int, primaries: str, count: int) -> tuple[numpy.ndarray, str]:
    done = subprocess.run([program, MODEL, str(seed), str(threads)], input=primaries, capture_output=True, text=True, check=True, timeout=120)
    result = numpy.zeros((count, 51, 51, 25), numpy.float32)
    for line in done.stdout.splitlines():
        number, x, y, layer, energy = line.split()
        assert result[int(number), int(x), int(y), int(layer)] == 0, "a cell came twice"
        result[int(number), int(x), int(y), int(layer)] = float.fromhex(energy)
    return result, done.stderr


def same_showers(program: pathlib.Path, folder: pathlib.Path) -> None:
    made = folder / "made.h5"
    subprocess.run([LINAC, "generate", "--model", MODEL, "--energy", "10:100", "--theta", "1.06:2.08", "-n", "40", "--seed", "9", "--out", made],
                   check=True, stdout=subprocess.DEVNULL)
    with h5py.File(made) as file:
        wanted, energy, theta = file["ECAL"][:], file["energy"][:], file["theta"][:]
    primaries = "".join(f"{float(e)!r} {float(t)!r}\n" for e, t in zip(energy.ravel(), theta.ravel()))
    alone, said = images(program, 9, 1, primaries, 40)
    assert "51 x 51 cells, 25 layers; trained on 10-99.9972 GeV" in said, said
    assert numpy.count_nonzero(alone) > 40 * 300 and numpy.array_equal(alone != 0, wanted != 0)
    assert numpy.all(numpy.abs(alone - wanted) <= 2.0**-11 * alone), "the file rounds to 11 bits"
    assert numpy.array_equal(images(program, 9, 4, primaries, 40)[0], alone), "threads change nothing"
    assert not numpy.array_equal(images(program, 10, 1, primaries, 40)[0], alone), "another seed"
    _, said = images(program, 9, 1, "500 1.5\n50 1.5\n50 0.3\n", 1)
    assert "500 GeV at theta 1.5 is for the full simulation" in said and "50 GeV at theta 0.3 is" in said, said


def refusals(library: pathlib.Path, folder: pathlib.Path) -> None:
    showers = ctypes.CDLL(str(library))
    showers.linac_showers_open.restype = ctypes.c_void_p
    showers.linac_showers_reason.restype = ctypes.c_char_p
    error = ctypes.create_string_buffer(400)

    def open_(path: pathlib.Path | None) -> int | None:
        return showers.linac_showers_open(None if path is None else str(path).encode(), error, ctypes.c_size_t(len(error)))

    (damaged := folder / "damaged.chain").write_bytes(MODEL.read_bytes()[:-100])
    os.mkfifo(fifo := folder / "fifo.chain")
    for path, why in ((None, b"no path"), (folder / "none.chain", b"none.chain"), (damaged, b"damaged"), (folder, b""), (fifo, b"fifo.chain")):
        assert open_(path) is None and why in error.value and error.value in showers.linac_showers_reason(), (path, error.value)
    short = ctypes.create_string_buffer(8)
    assert showers.linac_showers_open(b"nowhere.chain", short, ctypes.c_size_t(8)) is None and len(short.value) == 7

    model = ctypes.c_void_p(open_(MODEL))
    cells, count = (Cell * 4000)(), ctypes.c_size_t()

    def draw(energy: float, theta: float, room: int = 4000, into: object = cells, of: object = model) -> int:
        return showers.linac_showers_draw(of, ctypes.c_double(energy), ctypes.c_double(theta), ctypes.c_uint64(1), ctypes.c_uint64(2), into, ctypes.c_size_t(room), ctypes.byref(count))

    assert draw(50, 1.5) == OK
    whole = [(cell.x, cell.y, cell.layer, cell.energy_gev) for cell in cells[:count.value]]
    assert 300 < len(whole) < 4000 and 0.5 < sum(cell[3] for cell in whole) < 1.7, len(whole)
    assert draw(50, 1.5, 10) == ROOM and count.value == len(whole) and (cells[9].x, cells[9].energy_gev) == (whole[9][0], whole[9][3])
    assert draw(50, 1.5, 0, None) == ROOM and count.value == len(whole)
    for energy, theta in ((500, 1.5), (50, 0.1), (float("nan"), 1.5), (50, float("inf")), (-1, 1.5), (0, 1.5)):
        assert draw(energy, theta) == BEYOND and count.value == 0, (energy, theta)
        assert b"was trained on 10-100 GeV" in showers.linac_showers_reason(), showers.linac_showers_reason()
    assert draw(50, 1.5, 10, None) == FAILED and draw(50, 1.5, of=None) == FAILED and b"NULL" in showers.linac_showers_reason()
    showers.linac_showers_close(model)
    showers.linac_showers_close(None)


def main() -> None:
    library = pathlib.Path(sys.argv[1]) / "src/linac/model/fastsim/liblinac_showers.so"
    seen = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.split("\n")
    assert all(line.split()[-1].startswith("linac_showers_") for line in seen if line), seen
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        same_showers(compile_example(folder, library), folder)
        refusals(library, folder)
    print("showers of a model in another program: as linac generate has them")


if __name__ == "__main__":
    main()
