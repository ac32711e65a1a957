#!/usr/bin/env bash
# semver.sh: uses `cargo semver-checks` to compare the API of all published libraries with the last tag. Before the first tag,
# there is nothing to compare with.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true)
if [ -z "$tag" ]; then
  echo "NOTE: there is no tag, so the API is compared with nothing"
  exit 0
fi
command -v cargo-semver-checks >/dev/null || cargo install --locked cargo-semver-checks
options=()
for crate in $(.github/scripts/publish.sh --order); do
  # The commands have no API.
  case $crate in mcpgen-gateway | mcpgen-probe) ;; *) options+=(--package "$crate") ;; esac
done
cargo semver-checks --baseline-rev "$tag" "${options[@]}"
