# Sourced by the Python suites: their shared virtual environment, with the pinned packages of a requirements file.

environment="$root/.build/interop-environment"

# skip WHY: ends a suite that can't run on this machine. With CI set that is a failure, because a suite that did not
# run has proven nothing.
skip() {
  if [ -n "${CI:-}" ]; then
    echo "failed: $*; with CI set this is not skipped" >&2
    exit 1
  fi
  echo "skipped: $*" >&2
  exit 0
}

# have_packages FILE: installs the packages once; later runs need no network. Fails if they can't be installed. Suites
# that start at the same moment wait for one another, because two of them can't create one environment.
have_packages() {
  local file=$1 installed
  installed="$environment/$(basename "$(dirname "$(realpath "$file")")")-installed.txt"
  cmp -s "$file" "$installed" && return 0
  command -v python3 >/dev/null || return 1
  mkdir -p "$(dirname "$environment")"
  (
    # Without flock, as on macOS, suites must not be started together for the first time.
    ! command -v flock >/dev/null || flock --wait 300 9 || exit 1
    cmp -s "$file" "$installed" && exit 0
    python3 -m venv "$environment" \
      && "$environment/bin/pip" --quiet --disable-pip-version-check --timeout 10 --retries 1 install --require-hashes \
        --requirement "$file" \
      && cp "$file" "$installed"
  ) 9>"$environment.lock"
}

# need_packages FILE: the same, or the suite is skipped.
need_packages() {
  command -v python3 >/dev/null || skip "there is no python3 (Debian: apt install python3-venv)"
  have_packages "$1" || skip "the packages of $(realpath --relative-to "$root" "$1") can't be had"
}
