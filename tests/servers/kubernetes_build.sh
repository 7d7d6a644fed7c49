#!/usr/bin/env bash
# Builds Kubernetes' control plane of Go's module proxy alone: kubernetes_build.sh FOLDER [NAME...]
#   names: etcd kwok kube-apiserver kube-controller-manager kube-scheduler (all of these without a name), kubelet
# Some minutes of processor time, once: what stands in FOLDER is not built again. Called by get.sh.
set -euo pipefail

kubernetes=v1.34.4
etcd=v3.6.8
kwok=v0.7.0

folder=$1
shift
[ $# -gt 0 ] || set -- etcd kwok kube-apiserver kube-controller-manager kube-scheduler
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -mod=mod" GOWORK=off

# Neither server can be built by `go install PACKAGE@VERSION`: that refuses modules with replace lines. A module of our own asks for the
# same versions. Kubernetes' own replace lines point at folders of its repository, which the proxy has as modules v0.MINOR.PATCH.
module_of() {
  mkdir -p "$work/$1"
  cd "$work/$1"
  printf 'module linac.test/%s\n\n' "$1"
}

build_etcd() {
  module_of etcd >"$work/head"
  { cat "$work/head"; echo "go 1.24"; echo "require go.etcd.io/etcd/server/v3 $etcd"; } >go.mod
  printf '//go:build tools\n\npackage tools\n\nimport _ "go.etcd.io/etcd/server/v3"\n' >tools.go
  go build -trimpath -ldflags "-s -w" -o "$folder/etcd.part" go.etcd.io/etcd/server/v3
  mv "$folder/etcd.part" "$folder/etcd"
}

build_kubernetes() {
  local program=$1 of stage version=k8s.io/component-base/version
  module_of kubernetes >"$work/head"
  if [ ! -e go.mod ]; then
    go mod download "k8s.io/kubernetes@$kubernetes"
    of=$(go env GOMODCACHE)/cache/download/k8s.io/kubernetes/@v/$kubernetes.mod
    {
      cat "$work/head"
      sed -n '/^go [0-9]/p; /^godebug /p; /^godebug (/,/^)/p' "$of" | awk '!/^godebug \(/ || !seen++'
      echo "require k8s.io/kubernetes $kubernetes"
      for stage in $(sed -n 's#^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*#\1#p' "$of"); do
        echo "replace $stage => $stage v0.${kubernetes#v1.}"
      done
    } >go.mod
    {
      printf '//go:build tools\n\npackage tools\n\nimport (\n'
      printf '\t_ "k8s.io/kubernetes/cmd/%s"\n' kube-apiserver kube-controller-manager kube-scheduler kubelet
      echo ')'
    } >tools.go
  fi
  go build -trimpath -ldflags "-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34 -X $version.gitTreeState=clean" \
    -o "$folder/$program.part" "k8s.io/kubernetes/cmd/$program"
  mv "$folder/$program.part" "$folder/$program"
}

for name in "$@"; do
  [ ! -x "$folder/$name" ] || continue
  case $name in
    etcd) build_etcd ;;
    kwok) GOBIN="$work/bin" go install "sigs.k8s.io/kwok/cmd/kwok@$kwok" && mv "$work/bin/kwok" "$folder/kwok" ;;
    kube-apiserver | kube-controller-manager | kube-scheduler | kubelet) build_kubernetes "$name" ;;
    *) echo "kubernetes_build.sh: no program '$name'" >&2; exit 2 ;;
  esac
done
