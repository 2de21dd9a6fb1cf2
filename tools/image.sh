#!/usr/bin/env bash
# Builds the controller's image with podman out of the Dockerfile and prints its name, slotcar:VERSION.
#
#   BASE=            the base that the Dockerfile names, from its registry
#   BASE=IMAGE       another image of Debian 12 with python3 and python3-venv
#   BASE=debootstrap one that is made here once, from the Debian mirror that apt uses; needs root
#
# The build trusts the certificate authorities that this machine trusts; the image keeps none of them.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${BASE:-}
own_base=localhost/slotcar-base:12
authorities=/etc/ssl/certs/ca-certificates.crt
PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "slotcar: $*" >&2
  exit 1
}

command -v podman >/dev/null || fail "needs podman (Debian 12: apt-get install podman runc)"

make_base() {
  command -v debootstrap >/dev/null || fail "needs debootstrap (Debian 12: apt-get install debootstrap)"
  [ "$(id -u)" -eq 0 ] || fail "debootstrap needs root"
  local mirror
  tree=$(mktemp -d)
  # The tree may have mounts of debootstrap's where it was interrupted: --one-file-system goes into none of them.
  trap 'rm -rf --one-file-system "$tree"' EXIT
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Codename: bookworm' | head -n 1)
  debootstrap --variant=minbase --include=python3,python3-venv,openssh-client,ca-certificates \
    bookworm "$tree/root" ${mirror:+"$mirror"} >&2 || fail "debootstrap failed"
  rm -rf "$tree/root/var/cache/apt/archives" "$tree/root/var/lib/apt/lists"
  tar -C "$tree/root" -c . | podman import --quiet - "$own_base" >&2
}

# Debian 12's crun refuses a machine whose control groups are of both versions; runc does not.
runtime=()
if [ "$(podman info --format '{{.Host.OCIRuntime.Name}}')" = crun ] && command -v runc >/dev/null; then
  runtime=(--runtime runc)
fi

if [ "$base" = debootstrap ]; then
  podman image exists "$own_base" || make_base
  base=$own_base
fi
arguments=(--build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || true)")
[ -n "$base" ] && arguments+=(--build-arg "BASE=$base")
[ -f "$authorities" ] && arguments+=(--volume "$authorities:$authorities:ro")
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
podman "${runtime[@]}" build --layers "${arguments[@]}" --build-arg "VERSION=$version" --tag "slotcar:$version" . >&2
echo "slotcar:$version"
