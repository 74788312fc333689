#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# test.sh [CTEST-ARGUMENT...]: brings what is missing, builds, runs every test:
# the unit tests here, the others in QEMU. On a clean machine, too.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=vmtest/lib.sh
. "$here/lib.sh"

"$here/deps.sh"
lock_build build_all 6.12
exec ctest --test-dir "$build_dir" --output-on-failure "$@"
