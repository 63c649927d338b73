# Sourced by app/run.sh and tests/run.sh: what Glint needs from Debian, and how it gets there.
# Each package's reason stands in the README.

glint_build_packages="g++ cmake ninja-build pkg-config qt6-base-dev qt6-svg-dev libqt6svg6 libsqlite3-dev
    nlohmann-json3-dev libmd4c-dev libutf8proc-dev libstb-dev libgtest-dev fonts-dejavu-core"

# Installs the packages named that are not here yet, as root or through sudo, and says which.
glint_install() {
    missing=""
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || { echo "All packages are here."; return 0; }
    if ! command -v apt-get >/dev/null; then
        echo "This script installs Debian packages, and apt-get is not here. Install these yourself:$missing" >&2
        return 1
    fi
    if [ "$(id -u)" = 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null; then
        as_root="sudo"
    else
        echo "These packages are missing, and neither root nor sudo is available:$missing" >&2
        return 1
    fi
    echo "Installing from Debian:$missing"
    $as_root apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing \
            >/dev/null ||
        { echo "The packages could not be installed; apt-get's message stands above." >&2; return 1; }
}

# Configures and builds build/release: the targets named, or everything. Through sudo, the files
# belong to the person who called it.
glint_build() {
    echo "Building Glint in build/release (a few minutes the first time)"
    cmake --preset release >build-configure.log 2>&1 ||
        { cat build-configure.log >&2; rm -f build-configure.log; return 1; }
    rm -f build-configure.log
    cmake --build --preset release ${1:+--target "$@"} -- ${GLINT_NINJA_FLAGS:-} || return 1
    if [ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ]; then
        chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" build
    fi
}
