#!/bin/sh
# Sets up a fresh Debian 12 machine, builds Glint and opens its window. Safe to run again.
# Arguments go to the program: ./app/run.sh --help lists them.
set -eu
cd "$(dirname "$0")/.."
. installers/linux/packages.sh
glint_install $glint_build_packages
glint_build glint glint-cli

if [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ "${QT_QPA_PLATFORM:-}" = "" ]; then
    case " $* " in
    *" --help "* | *" --version "*) export QT_QPA_PLATFORM=offscreen ;;
    *)
        echo "Glint is built: build/release/bin/glint. To open its window, run this in a desktop session." >&2
        exit 1
        ;;
    esac
fi

if [ $# -eq 0 ]; then
    # The demo trio where it is there, else the reference trio that the tests use.
    demo=resources/demo
    reference=tests/fixtures/oracle/tiny-f32
    if [ -f $demo/demo-target.gguf ]; then
        set -- --model $demo/demo-target.gguf --mmproj $demo/demo-mmproj.gguf --draft $demo/demo-dflash.gguf
    else
        set -- --model $reference/target.gguf --mmproj $reference/mmproj.gguf --draft $reference/dflash.gguf
    fi
fi

# A window of root's would write root's files: through sudo, it opens as the person who called it.
if [ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
    exec sudo -u "$SUDO_USER" --preserve-env=DISPLAY,WAYLAND_DISPLAY,XAUTHORITY,QT_QPA_PLATFORM \
        build/release/bin/glint "$@"
fi
exec build/release/bin/glint "$@"
