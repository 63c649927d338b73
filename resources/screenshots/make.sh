#!/bin/sh
# Takes the pictures of this folder anew, from the whole program on a screen of its own (Xvfb).
# Uses the demo trio where it is there, else the reference trio of the tests. Needs a build with tests:
#   resources/screenshots/make.sh [BUILD-FOLDER]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/release}
trio=tests/fixtures/oracle/tiny-f32
if [ -f resources/demo/demo-target.gguf ]; then
    set -- resources/demo/demo-target.gguf resources/demo/demo-mmproj.gguf resources/demo/demo-dflash.gguf resources/demo/eval/243a.png
else
    set -- $trio/target.gguf $trio/mmproj.gguf $trio/dflash.gguf $trio/images/wide.png
fi
exec xvfb-run -a -s "-screen 0 1600x1000x24 -dpi 96" \
    "$build/tests/take_screenshots" resources/screenshots "$@"
