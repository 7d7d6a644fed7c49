#!/bin/sh
# Makes the Python environment of the peer tests in build/peers (or in the folder given), once for each state of
# requirements.txt. Prints the interpreter's path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build/peers}
stamp=$folder/requirements.installed

if ! cmp -s "$here/requirements.txt" "$stamp"; then
  mkdir -p "$folder"
  python3 -m venv "$folder" >&2
  wheels="--only-binary=:all: --no-binary=panda-client"  # that one has none
  pip="$folder/bin/python -m pip install --quiet --disable-pip-version-check $wheels"
  # uv unpacks and compiles in a third of pip's time; where it does not come or finds no index, pip does it.
  $pip uv==0.13.9 >&2 && "$folder/bin/uv" pip install --quiet --python "$folder/bin/python" $wheels \
    --compile-bytecode -r "$here/requirements.txt" >&2 || $pip -r "$here/requirements.txt" >&2
  cp "$here/requirements.txt" "$stamp"
fi
echo "$folder/bin/python"
