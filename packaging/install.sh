#!/bin/sh
# Installs the command `memory` for this user. `sh install.sh --help` describes it. The last line calls main, so that a
# download that ends early runs nothing.
set -eu

repository=memory-engine/memory-engine
releases=https://github.com/$repository/releases
# Limit of redirects of a download.
max_redirects=5
version=
prefix=${HOME:-}/.local
from=
provenance=

usage() {
  cat <<'END'
Installs the command `memory` for this user from the project's GitHub releases, after a comparison of the SHA-256
checksum. The last line that it prints names the installed command. It asks for nothing and changes no other file.
It downloads over https only.

  sh install.sh [--version VERSION] [--prefix DIR] [--from DIR] [--provenance]

  --version VERSION   version to install, such as 0.1.0; default: the latest release
  --prefix DIR        folder for bin/ and share/; default: ~/.local
  --from DIR          folder with the files of a release, instead of a download
  --provenance        also check with `gh attestation verify` that the release workflow of the project has built the
                      archive; needs the GitHub CLI, signed in
END
}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

# download NAME FILE
download() {
  if [ -n "$from" ]; then
    cp "$from/$1" "$2" || fail "$from has no file $1"
    return
  fi
  if [ -n "$version" ]; then url=$releases/download/v$version/$1; else url=$releases/latest/download/$1; fi
  if command -v curl >/dev/null 2>&1; then
    curl --proto '=https' --tlsv1.2 --max-redirs "$max_redirects" -fsSL "$url" -o "$2" \
      || fail "$url cannot be downloaded"
  elif command -v wget >/dev/null 2>&1; then
    download_with_wget "$url" "$2"
  else
    fail "curl and wget are missing; install one of them, or use --from"
  fi
}

# download_with_wget URL FILE: follows redirects itself, because wget would follow one to http. `wget --https-only` is
# for recursive downloads only.
download_with_wget() {
  next=$1
  redirects=0
  while ! answer=$(wget -q -S --max-redirect=0 "$next" -O "$2" 2>&1); do
    next=$(printf '%s\n' "$answer" | sed -n 's/^ *[Ll]ocation: *\([^[:space:]]*\).*/\1/p' | head -n 1)
    redirects=$((redirects + 1))
    case $next in
      https://*) ;;
      '') fail "$1 cannot be downloaded" ;;
      *) fail "$1 leads to $next, which is not https; nothing was installed" ;;
    esac
    [ "$redirects" -le "$max_redirects" ] || fail "$1 has more than $max_redirects redirects; nothing was installed"
  done
}

# checksum FILE
checksum() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail "sha256sum and shasum are missing; install coreutils"
  fi
}

main() {
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --prefix | --from)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
          --version) version=${2#v} ;;
          --prefix) prefix=$2 ;;
          --from) from=$2 ;;
        esac
        shift 2
        ;;
      --provenance) provenance=1; shift ;;
      -h | --help) usage; exit 0 ;;
      *) fail "unknown option $1; --help lists the options" ;;
    esac
  done
  [ "$prefix" != /.local ] || fail "HOME is not set; name a folder with --prefix"

  case $(uname -s) in
    Linux) system=unknown-linux-gnu ;;
    Darwin) system=apple-darwin ;;
    *) fail "there is no build for $(uname -s); build from source: cargo install memory-engine-cli" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no build for $(uname -m); build from source: cargo install memory-engine-cli" ;;
  esac
  target=$processor-$system

  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 1' INT TERM HUP

  download SHA256SUMS "$folder/SHA256SUMS"
  line=$(grep -E "^[0-9a-f]{64} [ *]memory-${version:-[0-9][^ ]*}-$target\.tar\.gz$" "$folder/SHA256SUMS" | head -n 1) \
    || true
  [ -n "$line" ] || fail "the release has no archive for $target${version:+ in version $version}"
  expected=${line%% *}
  name=${line##* }
  name=${name#\*}

  download "$name" "$folder/$name"
  actual=$(checksum "$folder/$name")
  [ "$actual" = "$expected" ] \
    || fail "$name has the checksum $actual instead of $expected; nothing was installed. Download it again"

  if [ -n "$provenance" ]; then
    command -v gh >/dev/null 2>&1 || fail "gh is missing; install the GitHub CLI, or leave out --provenance"
    gh attestation verify "$folder/$name" --repo "$repository" \
      --signer-workflow "$repository/.github/workflows/release.yml" >/dev/null \
      || fail "gh cannot verify that $name is of this project; nothing was installed"
  fi

  tar -xzf "$folder/$name" -C "$folder"
  unpacked=$folder/${name%.tar.gz}

  # A running command keeps its file: the new one gets the name in one step.
  mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
  new=$prefix/bin/.memory.$$
  cp "$unpacked/memory" "$new"
  chmod 755 "$new"
  if ! installed=$("$new" --version); then
    rm -f "$new"
    fail "the build for $target does not run on this machine; nothing was installed. Build from source"
  fi
  mv "$new" "$prefix/bin/memory"
  cp "$unpacked"/man/man1/*.1 "$prefix/share/man/man1/"
  cp "$unpacked/completions/memory" "$prefix/share/bash-completion/completions/"
  cp "$unpacked/completions/_memory" "$prefix/share/zsh/site-functions/"
  cp "$unpacked/completions/memory.fish" "$prefix/share/fish/vendor_completions.d/"

  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "Add $prefix/bin to your PATH." ;;
  esac
  echo "Installed $installed: $prefix/bin/memory"
}

main "$@"
