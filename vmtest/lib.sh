# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Where things are. Sourced by the scripts beside it, and by anything else that
# wants to know:
#
#   . vmtest/lib.sh
#   cmake -S . -B build -G Ninja -DPROBEKIT_DEPS="$(deps_dir)" \
#         -DPROBEKIT_KERNEL_DIR="$(kernel_headers 6.12)"

vmtest_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(dirname -- "$vmtest_dir")
build_dir=${PROBEKIT_BUILD_DIR:-$source_dir/build}

say() { printf 'vmtest: %s\n' "$*" >&2; }
die() {
	say "$*"
	exit 126
}

# Headers name the compiler that their distribution has: a home directory that
# two machines share must not mix them.
cache_dir() {
	local base=${PROBEKIT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/probekit}
	local ID='' VERSION_ID=''

	# shellcheck source=/dev/null
	. /etc/os-release
	printf '%s/%s-%s\n' "$base" "$ID" "$VERSION_ID"
}

# The number is that of the recipe in deps.sh: raise it when the recipe changes.
deps_dir() { printf '%s/deps-6.12-2\n' "$(cache_dir)"; }

# kernel_dir NAME: vmlinuz, vmlinux, release, modules/ and usr/src/.
kernel_dir() { printf '%s/kernel-%s\n' "$(cache_dir)" "$1"; }

kernel_release() { cat "$(kernel_dir "$1")/release"; }

kernel_headers() {
	local dir

	dir=$(realpath -- "$(kernel_dir "$1")") &&
		printf '%s/usr/src/linux-headers-%s\n' "$dir" "$(cat "$dir/release")"
}

# kernel_line NAME: its line in kernels.txt without the name, or a failure.
kernel_line() {
	local name rest

	while read -r name rest; do
		[[ $name == "$1" ]] && printf '%s\n' "$rest" && return 0
	done < <(grep -v '^#' "$vmtest_dir/kernels.txt")
	return 1
}

kernel_names() { grep -v '^#' "$vmtest_dir/kernels.txt" | cut -f1 | paste -sd' '; }

# build_is_current KERNEL: the build tree is configured for that kernel, by
# whatever means; a tree that someone configured by hand is left alone.
build_is_current() {
	local cache=$build_dir/CMakeCache.txt headers deps

	[[ -f $cache && -f $build_dir/build.ninja ]] || return 1
	headers=$(sed -n 's/^PROBEKIT_KERNEL_DIR:[A-Z]*=//p' "$cache")
	deps=$(sed -n 's/^PROBEKIT_DEPS:[A-Z]*=//p' "$cache")
	# An old recipe's result is as good as gone: another run may remove it.
	[[ $deps != "$(cache_dir)"/* || $deps == "$(deps_dir)" ]] &&
		[[ -z $deps || -d $deps ]] &&
		grep -qsF "\"$(kernel_release "$1")\"" "$headers/include/generated/utsrelease.h"
}

# build_all KERNEL: configures where needed, builds, and stages what is built.
# The caller holds the lock of the build tree.
build_all() {
	if ! build_is_current "$1"; then
		# What was found in another place would be kept otherwise.
		cmake -S "$source_dir" -B "$build_dir" -G Ninja \
			-U 'PROBEKIT_BPFTOOL' -U '*LIBBPF*' \
			-DPROBEKIT_DEPS="$(deps_dir)" \
			-DPROBEKIT_KERNEL_DIR="$(kernel_headers "$1")" \
			-DPROBEKIT_VMLINUX_BTF="$(kernel_headers "$1")/vmlinux" || return
	fi
	cmake --build "$build_dir" | sed '/^ninja: no work to do\.$/d' || return
	# A file that is installed no longer must not live on in the guest.
	rm -rf "$build_dir/stage"
	DESTDIR=$build_dir/stage cmake --install "$build_dir" >"$build_dir/install.log"
}

# lock_build COMMAND...: two runs at once share one build tree.
lock_build() {
	mkdir -p "$build_dir/vmtest"
	(
		flock -n 9 || { say "waiting for another run's build" && flock 9; }
		"$@" 9>&-
	) 9>"$build_dir/vmtest/lock"
}

# image_release FILE: what uname -r says in a guest that boots FILE.
image_release() {
	local offset text

	if [[ $(od -An -c -j 514 -N 4 "$1" | tr -d ' ') == HdrS ]]; then
		offset=$(od -An -tu2 -j 526 -N 2 "$1")
		text=$(dd if="$1" bs=1 skip=$((offset + 512)) count=80 status=none | tr '\0' '\n')
		text=${text%%$'\n'*}
	else
		text=$(grep -a -o -m 1 'Linux version [^ ]*' "$1") || return
		text=${text%%$'\n'*}
		text=${text#Linux version }
	fi
	printf '%s\n' "${text%% *}"
}
