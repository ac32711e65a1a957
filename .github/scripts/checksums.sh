#!/usr/bin/env bash
# checksums.sh FOLDER: writes SHA256SUMS of all archives in a folder, which `install.sh` and `.github/action/install.sh` read.
set -euo pipefail

cd "$1"
archives=(*.tar.gz)
[ -f "${archives[0]}" ] || { echo "there are no archives in $1" >&2; exit 1; }
sha256sum -- "${archives[@]}" >SHA256SUMS
cat SHA256SUMS
