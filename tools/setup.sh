#!/usr/bin/env bash
# Makes .venv with pinned and hashed packages, and this checkout's distributions in it: slotcar, slotcar-client,
# slotcar-transfer and slotcar-lab.
# `runtime`: what these need (requirements/runtime.txt, transfer.txt and lab.txt); `dev`: what the tests need too (dev.txt).
# Does nothing the second time. Says in one sentence what is missing where it may not install it.
set -euo pipefail
cd "$(dirname "$0")/.."
set_of_packages=${1:-dev}
case $set_of_packages in
  runtime) requirements=(requirements/runtime.txt requirements/transfer.txt requirements/lab.txt) ;;
  *) requirements=(requirements/dev.txt) ;;
esac

fail() {
  echo "slotcar: $*" >&2
  exit 1
}

find_python() {
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "needs Python 3.11, 3.12 or 3.13; install one (Debian 12: apt-get install python3 python3-venv) or name it in PYTHON"
}

apt_install() {
  local as=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as=(sudo -n)
    else
      fail "needs the Debian package(s) $*, and may not install them; ask an administrator for: apt-get install $*"
    fi
  fi
  command -v apt-get >/dev/null || fail "needs $*, and this machine has no apt-get to install them with"
  echo "slotcar: installing the Debian package(s) $*" >&2
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null ||
    fail "apt-get update failed; install by hand: apt-get install $*"
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null ||
    fail "apt-get install failed; install by hand: apt-get install $*"
}

python=$(find_python)
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  apt_install "python$version-venv"
fi

# A venv made for the tests serves the product too, so `dev` satisfies `runtime`.
stamp() { echo ".venv/.slotcar-$1-$(sha256sum requirements/*.txt tools/install_*.py pyproject.toml client/pyproject.toml mover/pyproject.toml lab/pyproject.toml | sha256sum | cut -c1-16)"; }
[ -e "$(stamp "$set_of_packages")" ] && exit 0
[ "$set_of_packages" = runtime ] && [ -e "$(stamp dev)" ] && exit 0

echo "slotcar: making .venv from ${requirements[*]} (the first time takes about a minute)" >&2
[ -x .venv/bin/python ] || "$python" -m venv .venv || fail "could not make .venv; is the disk full?"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes "${requirements[@]/#/--requirement=}" ||
  fail "could not install ${requirements[*]}; pip's own words are above"
.venv/bin/python tools/install_collections.py requirements/collections.txt ||
  fail "could not install Ansible's collections; pip's own words are above"
[ "$set_of_packages" = runtime ] || .venv/bin/python tools/install_yang.py requirements/yang.txt ||
  fail "could not install the YANG models; pip's own words are above"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e ./client -e ./mover -e . -e ./lab ||
  fail "could not install slotcar, slotcar-client, slotcar-transfer and slotcar-lab into .venv; pip's own words are above"
touch "$(stamp "$set_of_packages")"
