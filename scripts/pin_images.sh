#!/usr/bin/env bash
# Pins the images that deploy/ builds on and starts to the current digests of their tags, or updates the pins.
# Needs docker with buildx, and access to the registry.
set -euo pipefail
cd "$(dirname "$0")/.."
files=(deploy/Dockerfile deploy/compose.yml)
digest='sha256:[0-9a-f]{64}'

images=$(sed -nE "s/^(FROM| *image:) +([a-z0-9./-]+:[A-Za-z0-9._-]+)(@$digest)?( .*)?\$/\2/p" "${files[@]}" | sort -u)
edits=()
for image in $images; do
  found=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image")
  if [[ ! $found =~ ^$digest$ ]]; then
    echo "$image has no digest: $found" >&2
    exit 1
  fi
  edits+=(--expression "s#^((FROM| *image:) +${image//./\\.})(@$digest)?( |\$)#\1@$found\4#")
done
# Written at the end, so that either all images are pinned or none.
sed -Ei "${edits[@]}" "${files[@]}"
