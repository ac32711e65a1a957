#!/usr/bin/env bash
# publish.sh VERSION: publishes all crates of a version, dependencies first. Versions that are published already are
# skipped, so that a failed run can be repeated. `publish.sh --order` prints the order.
set -euo pipefail

# A test compares this with the dependencies.
crates=(mcpgen-pattern mcpgen-schema mcpgen-model mcpgen-diff mcpgen-site mcpgen mcpgen-types mcpgen-runtime mcpgen-mcp mcpgen-http mcpgen-skills mcpgen-tasks mcpgen-validate mcpgen-cluster mcpgen-otel mcpgen-bridge mcpgen-sdk mcpgen-auth mcpgen-redis mcpgen-gateway mcpgen-probe)
if [ "$1" = --order ]; then
  printf '%s\n' "${crates[@]}"
  exit 0
fi
version=${1#v}
metadata=$(cargo metadata --format-version 1 --no-deps --locked)
for crate in "${crates[@]}"; do
  ours=$(jq -r --arg name "$crate" '.packages[] | select(.name == $name) | .version' <<<"$metadata")
  if [ "$ours" != "$version" ]; then
    echo "$crate has version $ours, not $version; set the version in Cargo.toml before the tag" >&2
    exit 1
  fi
done
log=$(mktemp)
for crate in "${crates[@]}"; do
  until cargo publish --locked --package "$crate" 2>&1 | tee "$log"; do
    if grep -q "already exists" "$log"; then
      echo "$crate $version is published already"
      break
    fi
    # The registry accepts a few new crates at once, and then one every ten minutes.
    grep -q "status 429" "$log" || exit 1
    sleep 600
  done
done
