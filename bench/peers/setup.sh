#!/bin/sh
# Makes the Python environment of the benchmark's peers in build/bench-peers (or in the folder given), once for each
# state of requirements.txt. Prints the interpreter's path.
# The usual build of torch brings CUDA's libraries along (5 GB); pip's own environment variables can name another source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build/bench-peers}
stamp=$folder/requirements.installed

if ! cmp -s "$here/requirements.txt" "$stamp"; then
  mkdir -p "$folder"
  python3 -m venv "$folder" >&2
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
    -r "$here/requirements.txt" >&2
  cp "$here/requirements.txt" "$stamp"
fi
echo "$folder/bin/python"
