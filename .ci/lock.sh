#!/usr/bin/env bash
# Writes requirements.lock: what requirements.txt leads to, for every system and Python that is supported, with hashes.
# torch and the vendor's libraries that some of its builds bring are left out: see the head of the file.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check uv
compile() {
  "$tools/bin/uv" pip compile requirements.txt --quiet --universal --python-version 3.11 --no-header --no-annotate \
    --no-emit-package torch "$@"
}
builds=$(compile | grep -oE '^(nvidia|cuda|triton)[a-z0-9-]*' | sort -u | sed 's/^/--no-emit-package /')
# shellcheck disable=SC2086
compile --generate-hashes $builds | grep -vE '^(#|$)' > "$tools/lock"
{ sed -n '/^[^#]/q;p' requirements.lock; cat "$tools/lock"; } > "$tools/whole"
mv "$tools/whole" requirements.lock
