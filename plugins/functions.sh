# Functions shared by the tests of the packages in this folder.

# Installs missing Debian packages if permissions allow. Otherwise prints the command to run.
needs() {
    command -v dpkg-query >/dev/null || return 0
    local package missing=() as_root=()
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] && continue
        # On newer systems, the package has another name.
        [ "$package" = pkg-config ] && command -v pkg-config >/dev/null && continue
        missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    if ! { "${as_root[@]}" env true; } 2>/dev/null; then
        echo "the tests need packages that are not installed; as root, run:" >&2
        echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    "${as_root[@]}" apt-get update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# Runs pip with `$python`.
pip() { "$python" -m pip --disable-pip-version-check --quiet "$@"; }

# Downloads the wheels of a list with hashes into the user's cache folder, unless they are there. Prints their folder.
fetched() {
    local list=$1 folder
    folder=${XDG_CACHE_HOME:-$HOME/.cache}/texpool-wheels/$(sha256sum "$list" | cut -c 1-16)
    if [ ! -e "$folder/whole" ]; then
        echo "-- fetching what $list names into $folder" >&2
        mkdir -p "$folder"
        pip download --only-binary=:all: --no-deps --require-hashes --dest "$folder" -r "$list" >&2
        touch "$folder/whole"
    fi
    echo "$folder"
}

# Creates an empty environment. It has no pip, because not every system's Python can install pip there.
environment() {
    rm -rf "$1"
    "$python" -m venv --without-pip "$1"
}

# Installs packages from a folder, without network access: `install ENVIRONMENT FOLDER ARGUMENTS`.
install() {
    local environment=$1 folder=$2
    shift 2
    pip --python "$environment/bin/python" install --no-index --find-links "$folder" --no-deps "$@"
}

# Runs a command that must fail. `! COMMAND` would not end a script under `set -e`.
fails() {
    if "$@"; then
        echo "error: this has not failed: $*" >&2
        exit 1
    fi
}
