#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# initramfs.sh RELEASE IMAGE: makes the guest's file system out of build/stage,
# build/guest and this machine's own busybox, bash and libraries; does nothing
# when IMAGE already has that content. The caller holds the lock.
set -euo pipefail
shopt -s inherit_errexit nullglob

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=vmtest/lib.sh
. "$here/lib.sh"

release=$1
image=$2
stage=$build_dir/stage
guest=$build_dir/guest
libs=/usr/lib/x86_64-linux-gnu

fingerprint() {
	{
		# A new libc or busybox changes what is copied.
		stat -c '%Y' /var/lib/dpkg/status
		sha256sum "$here/init" "$here/initramfs.sh"
		for dir in "$stage" "$guest"; do
			[[ -d $dir ]] || continue
			find "$dir" -type l -printf '%p %l\n' | sort
			find "$dir" -type f -print0 | sort -z | xargs -0r sha256sum
		done
	} | sha256sum
}

now=$(fingerprint)
[[ -f $image && -f $image.sum && $(<"$image.sum") == "$now" ]] && exit 0

work=$(mktemp -d "$image.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{usr/{bin,sbin,lib,lib64},dev,etc/vmtest,out,proc,root,run,sys,tmp,var/tmp,usr/lib/probekit-tests}
for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
ln -s ../run "$root/var/run"
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
printf '127.0.0.1 localhost vmtest\n::1 localhost\n' >"$root/etc/hosts"
cp "$here/init" "$root/init"

cp "$(command -v busybox)" "$root/usr/bin/busybox"
while read -r applet; do
	[[ -e $root/usr/bin/$applet ]] || ln -s busybox "$root/usr/bin/$applet"
done < <(busybox --list)
cp "$(command -v bash)" "$root/usr/bin/bash"

# tar and not cp: the stage has a directory where the guest has a link.
[[ -d $stage ]] &&
	tar -C "$stage" -c --exclude='./usr/*include' --exclude='*.a' . |
	tar -C "$root" -x --keep-directory-symlink
for dir in bin modules; do
	[[ -d $guest/$dir ]] && cp -a "$guest/$dir" "$root/usr/lib/probekit-tests/"
done

mapfile -d '' files < <(find "$root" -type f -size +3c -print0)
elf=()
for file in "${files[@]}"; do
	LC_ALL=C IFS= read -r -N 4 magic <"$file" 2>/dev/null || true
	[[ $magic == $'\x7fELF' ]] && elf+=("$file")
done
for file in "${elf[@]}"; do
	# BTF stays, and so do the symbols that a stack trace of ours shows.
	strip --strip-debug "$file" 2>/dev/null || true
done

# A staged library lies where only an installed system would look for it.
for file in "${elf[@]}"; do
	[[ ${file##*/} == *.so* && ! -e $root$libs/${file##*/} ]] || continue
	mkdir -p "$root$libs"
	for name in "${file%/*}/${file##*/}" "${file%.so*}".so*; do
		[[ -e $root$libs/${name##*/} ]] || ln -s "${name#"$root"}" "$root$libs/${name##*/}"
	done
done
declare -A seen=()
for file in "${elf[@]}"; do
	[[ $file == *.ko ]] && continue
	while read -r library; do
		[[ ${seen[$library]-} || -e $root$library ]] && continue
		seen[$library]=yes
		mkdir -p "$root${library%/*}"
		cp -L "$library" "$root$library"
	done < <(LD_LIBRARY_PATH=$root/usr/local/lib:$root$libs ldd "$file" 2>/dev/null |
		grep -o '/[^ ]*' | grep -vF "$root")
done

mkdir -p "$root/lib/modules/$release"
cp "$(cache_dir)"/kernel-"$release"/modules/modules.{order,builtin,builtin.modinfo} \
	"$root/lib/modules/$release/" 2>/dev/null || true
depmod -b "$root" "$release" 2>/dev/null || true

(cd "$root" && find . -print0 | sort -z |
	cpio -0 --quiet -o -H newc -R 0:0 --reproducible) >"$work/image"
# A second archive follows; one that does not start on four bytes is ignored
# without a word.
truncate -s %512 "$work/image"
mv "$work/image" "$image"
printf '%s\n' "$now" >"$image.sum"
