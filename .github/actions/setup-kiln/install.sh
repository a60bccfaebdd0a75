#!/usr/bin/env bash
# Downloads a release of Kiln, verifies its SHA-256 and puts the executables on the PATH of later steps.
set -euo pipefail
case $SYSTEM in
  Linux-X64) target=x86_64-unknown-linux-gnu ;;
  Linux-ARM64) target=aarch64-unknown-linux-gnu ;;
  Windows-X64) target=x86_64-pc-windows-msvc ;;
  macOS-ARM64) target=aarch64-apple-darwin ;;
  *) echo "::error::Kiln has no release for $SYSTEM; build it with cargo instead"; exit 1 ;;
esac
archive=kiln-$VERSION-$target.tar.gz
mkdir -p "$DESTINATION"
cd "$DESTINATION"
# KILN_ARCHIVES is a folder of archives, for runners without access to the release.
if [ -n "${KILN_ARCHIVES:-}" ]; then
  cp "$KILN_ARCHIVES/$archive" "$KILN_ARCHIVES/$archive.sha256" .
else
  gh release download "v$VERSION" --repo "$REPOSITORY" --pattern "$archive*" --clobber
fi
if [ -n "$EXPECTED" ]; then
  echo "$EXPECTED  $archive" > "$archive.sha256"
fi
# macOS has `shasum` instead.
check=(sha256sum --check)
command -v sha256sum > /dev/null || check=(shasum -a 256 --check)
"${check[@]}" "$archive.sha256" || { echo "::error::$archive does not have the expected SHA-256"; exit 1; }
tar -xzf "$archive" --strip-components=1
echo "$DESTINATION/bin" >> "$GITHUB_PATH"
