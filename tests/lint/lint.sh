#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# lint.sh CHECK: one of the functions check_* below, over the files that git
# tracks, from the top of the tree. Exit status 77: skipped.
set -euo pipefail
shopt -s inherit_errexit

skip() {
	echo "skipped: $*"
	exit 77
}

# Whose terms a file is under stands in its first three lines.
check_spdx() {
	local file failed=0

	while read -r file; do
		case $file in
		*.md | LICENSE* | *.json | .gitignore | .clang-format | tests/unit/data/*) continue ;;
		esac
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' && continue
		echo "$file: no SPDX-License-Identifier in its first three lines"
		failed=1
	done < <(git ls-files)
	return $failed
}

# forbid REASON REGEX FILE...: no #include of the files may match.
forbid() {
	local reason=$1 regex=$2 found

	shift 2
	(($#)) || return 0
	found=$(grep -nE "^ *# *include *[<\"]($regex)" "$@" /dev/null) || return 0
	printf '%s\n%s\n' "$reason:" "$found"
	return 1
}

# Data flows one way, so do the includes.
check_includes() {
	local failed=0

	mapfile -t public < <(git ls-files 'include/probekit/*.hpp')
	mapfile -t kmod < <(git ls-files 'kmod/*.[ch]')
	mapfile -t bpf < <(git ls-files 'bpf/*.bpf.c' 'bpf/*.bpf.h')
	mapfile -t loader < <(git ls-files 'loader/*.[ch]pp')
	mapfile -t tools < <(git ls-files 'tools/*.[ch]pp')
	forbid 'public headers show no library but the standard one' \
		'bpf/|boost/|fmt/|nlohmann/|probekit/ops' "${public[@]}" || failed=1
	forbid 'the engine knows nothing of user space' \
		'bpf/|.*\.bpf\.h|.*\.hpp' "${kmod[@]}" || failed=1
	forbid 'handlers know the kernel by vmlinux.h' 'linux/|.*\.hpp' "${bpf[@]}" || failed=1
	forbid 'the loader knows no command, option or engine source' \
		'boost/|nlohmann/|.*kmod/|.*tools/' "${loader[@]}" || failed=1
	forbid 'the commands use the loader, not libbpf' 'bpf/' "${tools[@]}" || failed=1
	return $failed
}

# Versions of clang-format differ in what they make of the same style.
check_format() {
	local tool

	tool=$(command -v clang-format-14 || command -v clang-format) || skip 'no clang-format'
	"$tool" --version | grep -q 'version 14\.' || skip 'clang-format is not version 14'
	git ls-files '*.cpp' '*.hpp' | xargs "$tool" --dry-run -Werror
}

# volatile: that is how libbpf knows read-only data of a program. A macro
# beside a function (NOKPROBE_SYMBOL) is the kernel's own style.
check_kernel-style() {
	local checkpatch=${CHECKPATCH:-} status=0

	[[ -f $checkpatch ]] || skip 'no checkpatch.pl'
	command -v perl >/dev/null || skip 'no perl'
	git ls-files 'kmod/*.[ch]' 'bpf/*.bpf.[ch]' 'include/probekit/*.h' 'tests/*.c' |
		xargs perl "$checkpatch" --no-tree --strict --max-line-length=100 --terse \
			--no-summary --ignore LINE_SPACING,VOLATILE,AVOID_EXTERNS,BIT_MACRO \
			--ignore SPDX_LICENSE_TAG,SPACING,PREFER_DEFINED_ATTRIBUTE_MACRO \
			--ignore SPLIT_STRING,CAMELCASE -f || status=1
	return $status
}

check_shell() {
	command -v shellcheck >/dev/null || skip 'no shellcheck'
	git ls-files -z | xargs -0 grep -lIE '^#!/bin/(ba)?sh|shellcheck shell=' -- |
		xargs shellcheck -x
}

"check_${1:?usage: lint.sh CHECK}"
