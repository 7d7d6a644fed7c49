"""Notebooks of examples/notebooks: executed from the first cell to the last, and brought to the site with what they show."""

import os
import pathlib
import re
import shutil
import sys
import tempfile

import stage as pages

FOLDER = pages.NOTEBOOKS
CELL_SECONDS_MAX = 600
PAINT = re.compile("\x1b\\[[0-9;]*m")  # colours of a terminal


def all_of_them() -> list[pathlib.Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def stage(out: pathlib.Path, program: pathlib.Path, execute: bool) -> list[str]:
    """Writes them below `out`, with the page that leads to them. Returns what is wrong."""
    import nbformat

    out.mkdir(parents=True)
    problems = []
    for path in all_of_them():
        book = nbformat.read(path, as_version=4)
        if execute:
            problems += run(book, path.name, program)
        nbformat.write(book, out / path.name)
    text = (FOLDER / "README.md").read_text()
    (out / "index.md").write_text(pages.rebased(text, FOLDER, pages.ROOT / "notebooks") + "\n" + pages.tree([path.name for path in all_of_them()]))
    return problems


def run(book, name: str, program: pathlib.Path) -> list[str]:
    """Executes `book` in an empty folder of its own. Returns the cell that failed."""
    import nbclient

    kept = os.environ.copy()
    with tempfile.TemporaryDirectory(prefix="linac-notebook-") as folder:
        # It finds data and examples in the repository, and what `make install` brings below a prefix.
        os.environ.update(LINAC=str(program), LINAC_ROOT=str(pages.ROOT), PYTHONPATH=str(pages.ROOT / "python"), LINAC_PREFIX=prefix(program, pathlib.Path(folder)))
        os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="-1", XDG_STATE_HOME=folder + "/state", XDG_CONFIG_HOME=folder + "/config")
        os.environ["LINAC_CACHE"] = folder + "/cache"  # what a notebook shows does not depend on what was read before
        try:
            work = pathlib.Path(folder, "work")
            work.mkdir()
            client = nbclient.NotebookClient(book, timeout=CELL_SECONDS_MAX, kernel_name="python3", coalesce_streams=True, resources={"metadata": {"path": str(work)}})
            client.execute()
            return []
        except nbclient.exceptions.CellExecutionError as error:
            return [f"{name}: {error.ename}: {PAINT.sub('', error.evalue)}\n{PAINT.sub('', error.traceback)[-2000:]}"]
        finally:
            os.environ.clear()
            os.environ.update(kept)


def prefix(program: pathlib.Path, folder: pathlib.Path) -> str:
    """Header and library of showers.h below `folder`, as an installation has them; `program` lies in a build."""
    library = next(program.parents[1].rglob("liblinac_showers.so"), None)
    if library is not None:
        for name in ("include/linac/fastsim", "lib"):
            (folder / name).mkdir(parents=True)
        shutil.copy(pages.ROOT / "src/linac/model/fastsim/showers.h", folder / "include/linac/fastsim")
        for name in library.parent.glob("liblinac_showers.so*"):
            shutil.copy(name, folder / "lib")
    return str(folder)


if __name__ == "__main__":
    sys.exit("\n".join(stage(pathlib.Path(sys.argv[1]), pathlib.Path(os.environ["LINAC"]).resolve(), execute=True)))
