#!/usr/bin/env bash
# Pins the images that deploy/ builds on and starts to the digests that their tags have now, or pins them again.
# Needs docker with buildx, and a registry that it reaches.
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
# Only now: either all of them are pinned or none.
sed -Ei "${edits[@]}" "${files[@]}"
