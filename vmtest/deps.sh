#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# deps.sh [KERNEL...]: brings what the build and the guest need, on Debian 12
# and 13: packages, libbpf, bpftool and checkpatch of 6.12, and kernels (default: 6.12)
# with their headers. What is there already is not touched.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=vmtest/lib.sh
. "$here/lib.sh"

# Kernels are not among them: their packages would change what this machine
# boots. They are unpacked into the cache instead.
packages=(
	g++ gcc make cmake ninja-build pkg-config clang-19 llvm-19
	libelf-dev zlib1g-dev libfmt-dev nlohmann-json3-dev
	libboost-program-options-dev libgtest-dev libgmock-dev
	pahole bc bison flex binutils
	qemu-system-x86 busybox-static bash cpio kmod xz-utils zstd
	clang-format clang-tidy git perl shellcheck
)

as_root() {
	if ((EUID == 0)); then
		"$@"
	else
		sudo "$@"
	fi
}

updated=
apt_update() {
	[[ $updated ]] && return
	say 'updating the package lists'
	as_root apt-get -q -o DPkg::Lock::Timeout=600 update >&2 ||
		say 'apt-get update failed, going on with the lists that are there'
	updated=yes
}

install_packages() {
	local missing=() name status
	declare -A installed=()

	while read -r name status; do
		[[ $status == installed ]] && installed[$name]=yes
	done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null)
	for name in "${packages[@]}"; do
		[[ ${installed[$name]-} ]] || missing+=("$name")
	done
	((${#missing[@]})) || return 0

	apt_update
	say "installing ${missing[*]}"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o DPkg::Lock::Timeout=600 install --no-install-recommends \
		"${missing[@]}" </dev/null >&2
}

# unpack DIR PACKAGE...: no maintainer script runs, nothing is registered.
unpack() {
	local root=$1 debs deb

	shift
	debs=$(mktemp -d "$work/debs.XXXXXX")
	# apt drops privileges for downloads and could not write here.
	(cd "$debs" && apt-get -q -o APT::Sandbox::User=root download "$@" >&2)
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$root"
	done
	rm -rf "$debs"
}

field() { apt-cache show --no-all-versions "$1" 2>/dev/null | sed -n "s/^$2: //p"; }

have_lists() { [[ $(field bash Version) ]]; }

# The image compresses its kernel; QEMU boots the plain ELF file by its PVH
# entry, which saves the guest the decompression.
extract_vmlinux() {
	local image=$1 sectors offset length

	sectors=$(od -An -tu1 -j 497 -N 1 "$image")
	offset=$(od -An -tu4 -j 584 -N 4 "$image")
	length=$(od -An -tu4 -j 588 -N 4 "$image")
	# The last four bytes are the unpacked size, not part of the stream.
	dd if="$image" of="$work/payload" bs=1M status=none \
		iflag=skip_bytes,count_bytes \
		skip=$(((sectors + 1) * 512 + offset)) count=$((length - 4))
	case $(od -An -tx1 -N 4 "$work/payload" | tr -d ' ') in
	28b52ffd) zstd -qdc "$work/payload" ;;
	fd377a58) xz -dc "$work/payload" ;;
	1f8b*) gzip -dc "$work/payload" ;;
	*) return 1 ;;
	esac
	rm -f "$work/payload"
}

# kernel_debian NAME SERIES FLAVOUR
kernel_debian() {
	local name=$1 series=$2 flavour=$3 meta release='' final root headers

	have_lists || apt_update
	for meta in "linux-headers-$series-$flavour" "linux-headers-$flavour"; do
		release=$(field "$meta" Depends |
			grep -o "linux-headers-$series\.[^ ,]*-$flavour" | head -n 1) && break
		apt_update
	done
	release=${release#linux-headers-}
	[[ $release ]] || die "no package of kernel $series for $flavour: is main, and on Debian 12 its security suite, in the apt sources?"

	final=$(cache_dir)/kernel-$release
	if [[ ! -d $final ]]; then
		say "unpacking kernel $release into $final"
		root=$work/root
		mkdir "$root"
		unpack "$root" "linux-headers-$release" \
			"linux-headers-${release%"-$flavour"}-common" \
			"linux-kbuild-${release%"-$flavour"}" "linux-image-$release"
		headers=$root/usr/src/linux-headers-$release
		sed -i "s|/usr/src/|$final/usr/src/|" "$headers/Makefile"
		mv "$root/boot/vmlinuz-$release" "$root/vmlinuz"
		extract_vmlinux "$root/vmlinuz" >"$root/vmlinux"
		if [[ -d $root/usr/lib/modules ]]; then
			mv "$root/usr/lib/modules/$release" "$root/modules"
		else
			mv "$root/lib/modules/$release" "$root/modules"
		fi
		mv "$root/boot/config-$release" "$root/config"
		rm -rf "${root:?}/boot"
		printf '%s\n' "$release" >"$root/release"
		# After the name exists everything behind it is complete.
		chmod 755 "$root"
		mv -T "$root" "$final"
	fi
	ln -s "kernel-$release" "$work/link"
	mv -T "$work/link" "$(cache_dir)/kernel-$name"
}

# Debian 12's own libbpf lacks what the loader uses, and its bpftool generates
# code for a newer one. The pair from one kernel source fits on every release.
build_libbpf() {
	local final tarball src=$work/src root=$work/deps jobs

	final=$(deps_dir)
	say "building libbpf and bpftool into $final (a minute)"
	tarball=/usr/src/linux-source-6.12.tar.xz
	if [[ ! -f $tarball ]]; then
		have_lists || apt_update
		[[ $(field linux-source-6.12 Version) ]] || apt_update
		unpack "$work/source" linux-source-6.12
		tarball=$work/source$tarball
	fi
	mkdir "$src"
	tar -C "$src" --strip-components=1 -xf "$tarball" linux-source-6.12/tools \
		linux-source-6.12/scripts linux-source-6.12/include/uapi \
		linux-source-6.12/kernel/bpf/disasm.c linux-source-6.12/kernel/bpf/disasm.h

	jobs=$(nproc)
	# The loader may be a shared library: the archive must be position
	# independent, which it is not by default.
	env -u MAKEFLAGS -u MFLAGS make -s -j"$jobs" -C "$src/tools/lib/bpf" \
		EXTRA_CFLAGS='-g -O2 -fPIC' prefix="$final" libdir_relative=lib \
		DESTDIR="$root" install >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2 && die 'libbpf does not build'; }
	env -u MAKEFLAGS -u MFLAGS make -s -j"$jobs" -C "$src/tools/bpf/bpftool" \
		bootstrap >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2 && die 'bpftool does not build'; }

	root=$root$final
	# Only the archive stays, and whoever links it needs what it needs.
	rm -f "$root"/lib/libbpf.so*
	sed -i 's/^Requires.private:/Requires:/' "$root/lib/pkgconfig/libbpf.pc"
	# The system's <linux/bpf.h> may be older than libbpf's headers expect.
	mkdir -p "$root/include/linux" "$root/bin"
	cp "$src"/tools/include/uapi/linux/{bpf,bpf_common,btf}.h "$root/include/linux/"
	install "$src/tools/bpf/bpftool/bootstrap/bpftool" "$root/bin/bpftool"
	# The kernel's own judge of kernel style, for the lint tests.
	mkdir -p "$root/share/checkpatch"
	cp "$src"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch} "$root/share/checkpatch/"
	mv -T "$root" "$final"
}

want=("$@")
((${#want[@]})) || want=(6.12)
for name in "${want[@]}"; do
	kernel_line "$name" >/dev/null || die "unknown kernel '$name' (known: $(kernel_names))"
done

install_packages

complete=yes
[[ -d $(deps_dir) ]] || complete=
for name in "${want[@]}"; do
	[[ -d $(kernel_dir "$name") ]] || complete=
done
[[ $complete ]] && exit 0

mkdir -p "$(cache_dir)"
exec 9>"$(cache_dir)/lock"
flock -n 9 || { say 'waiting for another run that fills the cache' && flock 9; }
# What a run that was killed could not remove; the lock says that none is alive.
rm -rf "$(cache_dir)"/tmp.*
work=$(mktemp -d "$(cache_dir)/tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

for name in "${want[@]}"; do
	[[ -d $(kernel_dir "$name") ]] && continue
	read -r how rest < <(kernel_line "$name")
	# The rest is a list of arguments.
	# shellcheck disable=SC2086
	"kernel_$how" "$name" $rest
done
[[ -d $(deps_dir) ]] || build_libbpf
