"""Files brought to where another place reads them: once, by their checksum, and compared when they are there."""

import hashlib
import os
import pathlib
import secrets
from collections.abc import Callable
from typing import Any

from linac._columns import arrow, refused
from linac._program import LinacError, call

_PIECE_BYTES = 4 << 20


def bring(file: pathlib.Path, to: str) -> str:
    """Its path or address below `to`, a folder that is seen here, or s3://BUCKET/FOLDER and what else PyArrow writes. What is there with the same
    content is left as it is. Raises LinacError where it cannot be written, or is another when it is read again."""
    arrow()
    from pyarrow import fs

    digest = _digest(lambda: open(file, "rb"))
    name = f"{digest[:32]}-{file.name}"
    try:
        store, folder = fs.FileSystem.from_uri(to) if "://" in to else (fs.LocalFileSystem(), os.path.abspath(to))
        target = f"{folder.rstrip('/')}/{name}"
        if _is_there(store, target, file, digest):
            return _address(to, name)
        store.create_dir(folder, recursive=True)
        part = f"{target}.{secrets.token_hex(4)}"
        with open(file, "rb") as source, store.open_output_stream(part) as there:
            while piece := source.read(_PIECE_BYTES):
                there.write(piece)
        if not _is_there(store, part, file, digest):
            store.delete_file(part)
            raise refused("data", f"{to}: what was written is read as something else", "give upload= another place", 4)
        store.move(part, target)
        return _address(to, name)
    except (OSError, ValueError, arrow().ArrowException) as error:
        raise refused("data", f"{to} cannot be written ({error})", "give upload=, a folder or s3://BUCKET/FOLDER that the place elsewhere reads", 4) from error


def _address(to: str, name: str) -> str:
    return f"{to.rstrip('/')}/{name}" if "://" in to else f"{os.path.abspath(to)}/{name}"


def _is_there(store: Any, path: str, file: pathlib.Path, digest: str) -> bool:
    about = store.get_file_info(path)
    return about.is_file and about.size == file.stat().st_size and _digest(lambda: store.open_input_stream(path)) == digest


def _digest(opened: "Callable[[], Any]") -> str:
    digest = hashlib.sha256()
    with opened() as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def folder_of_site(site: str) -> "str | None":
    """Where a site's launches lie, if that is a folder here as well: on its own host, or by a disk that both see."""
    for line in call("sites", "list").splitlines()[1:]:
        name, _, rest = line.strip().partition(" ")
        folder = rest.strip().partition(" ")[2].strip()
        if name == site:
            return folder if os.path.isdir(folder) and os.access(folder, os.W_OK) else None
    raise LinacError(f"[sites] there is no site '{site}'; `linac sites list` has those that there are, `linac sites init KIND` shows one", 2)
