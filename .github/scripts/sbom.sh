#!/usr/bin/env bash
# sbom.sh PACKAGE TARGET: prints the packages that a program is compiled from, in the format CycloneDX 1.6. Build dependencies
# are included, dependencies of tests are not. Features are those of the whole workspace, so it may list a few packages too many.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo metadata --locked --format-version 1 --filter-platform "$2" | jq --sort-keys --arg name "$1" '
  (.packages | map({ (.id): . }) | add) as $packages
  | (.resolve.nodes | map({ (.id): [.deps[] | select(any(.dep_kinds[]; .kind != "dev")) | .pkg] }) | add) as $needs
  | (.packages[] | select(.name == $name and .source == null) | .id) as $root
  # All packages that can be reached from the root.
  | def reach($seen; $next):
      if $next == [] then $seen
      else ($seen + $next) as $all | reach($all; [$next[] | $needs[.][]] | unique - $all)
      end;
    reach([]; [$root]) as $used
  | def reference: $packages[.] | "pkg:cargo/\(.name)@\(.version)";
    def component: $packages[.] | {
      type: "library", "bom-ref": "pkg:cargo/\(.name)@\(.version)", purl: "pkg:cargo/\(.name)@\(.version)", name, version
    } + (if .license then { licenses: [{ expression: (.license | gsub("/"; " OR ")) }] } else {} end);
  {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: ($root | component | .type = "application") },
    components: [$used - [$root] | sort_by($packages[.].name, $packages[.].version)[] | component],
    dependencies: [
      $used | sort_by($packages[.].name, $packages[.].version)[] | { ref: reference, dependsOn: [$needs[.][] | reference] | unique }
    ]
  }'
