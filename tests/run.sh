#!/bin/sh
# The one test command: sets up a fresh Debian 12 machine, builds, runs every test. Safe to run again.
# Arguments go to ctest: ./tests/run.sh -L unit runs the fast tests alone.
set -eu
cd "$(dirname "$0")/.."
. installers/linux/packages.sh
glint_install $glint_build_packages
glint_build
export QT_QPA_PLATFORM=offscreen
exec ctest --preset release --no-tests=error --parallel "$(nproc)" "$@"
