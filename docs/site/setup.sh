#!/bin/sh
# Makes the Python environment of the site in build/docs-env, once for each state of requirements.txt. Notebooks see the packages
# of the peers (tests/peers/setup.sh) in it, where these are there. Prints the interpreter's path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build
folder=$build/docs-env

if ! cmp -s "$here/requirements.txt" "$folder/requirements.installed"; then
  mkdir -p "$folder"
  python3 -m venv "$folder" >&2
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r "$here/requirements.txt" >&2
  cp "$here/requirements.txt" "$folder/requirements.installed"
fi
# Behind the own packages, so that those are found first.
site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
peers=$build/peers/bin/python
if [ -x "$peers" ]; then
  "$peers" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/peers.pth"
fi
echo "$folder/bin/python"
