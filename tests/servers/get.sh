#!/usr/bin/env bash
# Brings real servers and tools that tests use where they find them and skip without: get.sh NAME...
#   postgresql prometheus chromium nginx xrootd slurm sshd openmpi mpich registry   Debian's packages; `light` is all of these
#   versitygw                        an object store, made by Go into ~/.cache/linac-servers
#   kubernetes                       its control plane, etcd and kwok, by Go too: some minutes of processor time
#   kubelet                          what a real node of it needs: kubelet, containerd, runc, their network, a name service
#   opentofu                         OpenTofu with providers for Kubernetes and OpenStack, by Go, for the modules of deploy/
#   rucio                            Rucio's server, a virtual environment of Python in the same folder
#   tfspawner                        TF-Spawner with the package that it needs, for a comparison
#   kubeflow                         the schemas of its objects, by Go's modules
#   gcsemulator azurite              what speaks as Google's and Azure's object stores do, the same by Python and npm
#   aarch64                          a cross compiler and an emulator, for the kernels on another processor
#   nvcc                             CUDA's compiler, from the wheels of deps/wheels-cuda.txt, for `make gpu-day` without a GPU
#   docs                             the Python environment in which the site of the pages is made
#   packaging, image                 the tools that packages are made with, and the container image of this tree
# All are packages of the system, so every clone shares them; a test starts its own server and ends it.
set -euo pipefail

updated=
packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  [ -n "$updated" ] || $sudo apt-get update -qq
  updated=yes
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

[ $# -gt 0 ] || { sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
light="postgresql prometheus chromium nginx xrootd slurm sshd openmpi mpich registry"
for name in "$@"; do
  case $name in
    light) "$here/get.sh" $light ;;
    packaging) "$here/../../deps/get.sh" packaging ;;
    docs) "$here/../../docs/site/setup.sh" >/dev/null ;;
    image) make --silent -C "$here/../.." image ;;
    postgresql) packages postgresql ;;
    prometheus) packages prometheus ;;
    nginx) packages nginx-light ;;
    xrootd) packages xrootd-server ;;
    slurm) packages slurm-wlm munge ;;
    sshd) packages openssh-server ;;
    openmpi) packages openmpi-bin ;;
    mpich) packages mpich ;;
    registry) packages docker-registry ;;
    chromium) packages chromium fonts-dejavu-core; command -v npm >/dev/null || packages nodejs npm ;;
    rucio)
      folder="${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/rucio"
      [ -x "$folder/bin/gunicorn" ] || { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check rucio==41.5.1 gunicorn==27.0.1; }
      ;;
    kubeflow)
      command -v go >/dev/null || { echo "get.sh: kubeflow needs Go (go.dev/dl)" >&2; exit 1; }
      folder="${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/kubeflow"
      mkdir -p "$folder"
      for module in github.com/kubeflow/trainer/v2@v2.0.0 github.com/kubeflow/training-operator@v1.9.3; do
        crds="$(go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/manifests/base/crds"
        for name in trainer.kubeflow.org_trainjobs kubeflow.org_tfjobs kubeflow.org_pytorchjobs; do
          [ ! -e "$crds/$name.yaml" ] || install -m 644 "$crds/$name.yaml" "$folder/"
        done
      done
      ;;
    tfspawner)
      folder="${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/tf-spawner"
      [ -x "$folder/bin/python" ] || { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check kubernetes==37.0.2; }
      [ -e "$folder/repo/tf-spawner" ] || { git clone --quiet https://github.com/cerndb/tf-spawner "$folder/repo" && git -C "$folder/repo" checkout --quiet 3f66c19; }
      ;;
    gcsemulator)
      folder="${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/gcs"
      [ -x "$folder/bin/gcp-storage-emulator" ] || { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check gcp-storage-emulator==2026.7.19; }
      ;;
    azurite)
      command -v npm >/dev/null || packages nodejs npm
      folder="${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/azurite"
      [ -x "$folder/node_modules/.bin/azurite-blob" ] || { mkdir -p "$folder" && npm --prefix "$folder" install --silent --no-fund --no-audit azurite@3.35.0; }
      ;;
    versitygw)
      command -v go >/dev/null || { echo "get.sh: versitygw needs Go (go.dev/dl)" >&2; exit 1; }
      servers="${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers"
      [ -x "$servers/versitygw" ] || GOBIN="$servers" CGO_ENABLED=0 go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
      ;;
    kubernetes)
      command -v go >/dev/null || { echo "get.sh: kubernetes needs Go (go.dev/dl)" >&2; exit 1; }
      command -v openssl >/dev/null || packages openssl
      "$(dirname "$0")/kubernetes_build.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/kubernetes"
      ;;
    kubelet)
      command -v go >/dev/null || { echo "get.sh: kubelet needs Go (go.dev/dl)" >&2; exit 1; }
      packages containerd runc containernetworking-plugins dnsmasq-base busybox iproute2
      "$(dirname "$0")/kubernetes_build.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/kubernetes" kubelet
      ;;
    opentofu)
      command -v go >/dev/null || { echo "get.sh: opentofu needs Go (go.dev/dl)" >&2; exit 1; }
      "$here/opentofu_build.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/opentofu"
      ;;
    nvcc)
      folder="${XDG_CACHE_HOME:-$HOME/.cache}/linac-servers/cuda"
      wheels=$(sed -n '/^nvidia/p' "$here/../../deps/wheels-cuda.txt"; grep '^nvidia-cuda-runtime' "$here/../../deps/wheels.txt")
      if [ "$(cat "$folder/wheels" 2>/dev/null || true)" != "$wheels" ]; then
        command -v unzip >/dev/null || packages unzip
        rm -rf "$folder"
        mkdir -p "$folder"
        # shellcheck disable=SC2086
        python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$folder/new" $wheels
        for wheel in "$folder"/new/*.whl; do unzip -q -o "$wheel" -d "$folder"; done
        rm -rf "$folder/new"
        echo "$wheels" >"$folder/wheels"
      fi
      ;;
    aarch64) packages g++-aarch64-linux-gnu qemu-user-static googletest ;;
    *) echo "get.sh: no server '$name' ($light versitygw kubernetes kubelet opentofu rucio tfspawner kubeflow gcsemulator azurite aarch64 nvcc docs packaging image)" >&2; exit 2 ;;
  esac
done
