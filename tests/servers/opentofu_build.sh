#!/usr/bin/env bash
# Builds OpenTofu and those of its providers that are Go modules: opentofu_build.sh FOLDER. Some minutes of processor time, once: what
# stands in FOLDER is not built again. Called by get.sh.
#
#   FOLDER/tofu         FOLDER/providers/HOST/NAMESPACE/NAME/VERSION/linux_ARCHITECTURE/terraform-provider-NAME_vVERSION
#
# Of the provider for Kubernetes the last release is taken whose number its module's path allows: later ones have no versions as modules.
# Google's has none since 2018, Oracle's none at all.
set -euo pipefail

tofu=v1.12.6
kubernetes=1.13.4
openstack=3.4.0

folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -mod=mod" GOWORK=off

# build PACKAGE MODULE VERSION FILE: by a module of our own, as `go install` refuses modules with replace lines; $replace has those that
# it needs.
build() {
  [ ! -x "$4" ] || return 0
  mkdir -p "$work/$2" "$(dirname "$4")"
  cd "$work/$2"
  printf 'module linac.test/opentofu\n\ngo 1.26\n\nrequire %s %s\n%s\n' "$2" "$3" "${replace:-}" >go.mod
  printf '//go:build tools\n\npackage tools\n\nimport _ "%s"\n' "$1" >tools.go
  go build -trimpath -ldflags "-s -w" -o "$4.part" "$1"
  mv "$4.part" "$4"
}
provider() {
  echo "$folder/providers/registry.opentofu.org/$1/$2/$3/$(go env GOOS)_$(go env GOARCH)/terraform-provider-$2_v$3"
}

module=github.com/opentofu/opentofu
replace=$(go mod download -json "$module@$tofu" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p' | xargs sed -n '/^replace /p') \
  build "$module/cmd/tofu" "$module" "$tofu" "$folder/tofu"

module=github.com/terraform-provider-openstack/terraform-provider-openstack/v3
build "$module" "$module" "v$openstack" "$(provider terraform-provider-openstack openstack "$openstack")"

# Versions that its own file names; a module that has moved; and none of Azure's, which its tests alone need.
module=github.com/hashicorp/terraform-provider-kubernetes
replace='replace (
	github.com/Azure/go-autorest/autorest => github.com/tombuildsstuff/go-autorest/autorest v0.10.1-0.20200416184303-d4e299a3c04a
	github.com/go-openapi/spec => github.com/go-openapi/spec v0.19.5
	github.com/moby/term => github.com/moby/term v0.0.0-20200507123241-dbdd9cc6608d
	k8s.io/cli-runtime => k8s.io/cli-runtime v0.19.1
	k8s.io/client-go => k8s.io/client-go v0.19.1
	vbom.ml/util => github.com/fvbommel/util v0.0.0-20160121211510-db5cfe13f5cc
)' build "$module" "$module" "v$kubernetes" "$(provider hashicorp kubernetes "$kubernetes")"
