#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
set -euo pipefail
shopt -s inherit_errexit

usage() {
	cat <<'END'
usage: vmtest/run.sh [options] [--] COMMAND [ARGUMENT...]

Builds what is missing, boots a kernel in QEMU, runs COMMAND as root in it.

  --kernel NAME|PATH   a name from vmtest/kernels.txt (default: 6.12), or an image
  --icount             guest time counts instructions, the same in every run
  --cpus N             default 2; always 1 with --icount
  --memory SIZE        default 1G
  --append ARGUMENTS   more kernel arguments; may be repeated
  --add FILE[:PATH]    bring a file or folder along, to PATH in the guest
                       (default: /root/NAME); may be repeated
  --out DIR            where the files go that COMMAND leaves in the guest's
                       /out (default: build/out)
  --time-limit SECONDS of the whole run in the guest (default 600)
  --no-build           neither install, build nor stage: take what is there
  --no-module          do not load probekit.ko before COMMAND

Exit status: COMMAND's; 124 a splat in the kernel log; 125 the guest crashed,
hung or ran out of time; 126 it could not be started, or wrong usage.
END
}

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=vmtest/lib.sh
. "$here/lib.sh"

kernel=6.12 icount='' cpus=2 memory=1G limit=600 build=yes module=yes
append=() added=() out=$build_dir/out
while (($#)); do
	case $1 in
	--kernel | --cpus | --memory | --append | --add | --out | --time-limit)
		(($# > 1)) || die "$1 needs a value (--help)"
		case $1 in
		--kernel) kernel=$2 ;;
		--cpus) cpus=$2 ;;
		--memory) memory=$2 ;;
		--append) append+=("$2") ;;
		--add) added+=("$2") ;;
		--out) out=$2 ;;
		--time-limit) limit=$2 ;;
		esac
		shift
		;;
	--icount) icount=yes ;;
	--no-build) build= ;;
	--no-module) module= ;;
	-h | --help) usage && exit 0 ;;
	--) shift && break ;;
	-*) die "unknown option $1 (--help)" ;;
	*) break ;;
	esac
	shift
done
(($#)) || die 'no command (--help)'
[[ $cpus =~ ^[1-9][0-9]*$ ]] || die "--cpus wants a number, not '$cpus'"
[[ $limit =~ ^[1-9][0-9]*$ ]] || die "--time-limit wants seconds, not '$limit'"

# What the build is for; a kernel given by its path has nothing of its own.
named=$kernel
if [[ $kernel == */* ]]; then
	[[ -f $kernel ]] || die "no kernel image $kernel"
	named=6.12
elif ! kernel_line "$kernel" >/dev/null; then
	die "unknown kernel '$kernel' (known: $(kernel_names), or the path of an image)"
fi

[[ $build || ! -d $(kernel_dir "$named") ]] && { "$here/deps.sh" "$named" || die 'deps.sh failed'; }
image=$kernel
[[ $kernel == */* ]] || image=$(kernel_dir "$kernel")/vmlinux
release=$(image_release "$image") || die "$image is no kernel image for this machine"

# Ninja's own progress is not COMMAND's output.
if [[ $build ]]; then
	lock_build build_all "$named" >&2 || die 'the build failed'
fi
base=$build_dir/vmtest/initramfs-$release.cpio
lock_build "$here/initramfs.sh" "$release" "$base" || die 'no initramfs'

# What a run that was killed could not remove.
find "$build_dir/vmtest" -maxdepth 1 -name 'run.*' -mmin +1440 -exec rm -rf {} +
run=$(mktemp -d "$build_dir/vmtest/run.XXXXXX")
qemu=
# shellcheck disable=SC2317
cleanup() {
	[[ $qemu ]] && kill "$qemu" 2>/dev/null && wait "$qemu"
	rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# In single quotes every byte stands for itself, in any shell.
quote() { printf "'%s' " "${1//\'/\'\\\'\'}"; }

# /lib and its like are links there: an archive that has a folder of that name
# would replace the link.
guest_path() {
	case $1 in
	/lib | /lib/* | /lib64 | /lib64/* | /bin/* | /sbin/*) printf '/usr%s\n' "$1" ;;
	/*) printf '%s\n' "$1" ;;
	*) printf '/root/%s\n' "$1" ;;
	esac
}

bring() {
	local path

	path=$run/root$(guest_path "$2")
	mkdir -p "${path%/*}"
	[[ $path != */ ]] || path+=${1##*/}
	cp -rLT --preserve=mode,timestamps "$1" "$path"
}

mkdir -p "$run/root/etc/vmtest"
for spec in "${added[@]}"; do
	file=$spec target=${spec##*/}
	if [[ ! -e $spec && $spec == *:* ]]; then
		file=${spec%:*} target=${spec##*:}
	fi
	[[ -e $file ]] || die "no file $file to add"
	bring "$file" "$target"
	# Programs come with their libraries.
	while read -r library; do
		bring "$library" "$library"
	done < <(find -L "$file" -type f -exec ldd {} + 2>/dev/null |
		sed -n 's/.*\(=>\|^\t\) *\(\/[^ ]*\) (0x.*/\2/p' | sort -u)
done
{
	printf 'exec '
	for word in "$@"; do quote "$word"; done
	printf '\n'
} >"$run/root/etc/vmtest/command"
printf 'settle=%s module=%s\n' "${icount:+3}" "${module:-no}" |
	sed 's/settle= /settle=0 /' >"$run/root/etc/vmtest/config"
{
	cat "$base"
	(cd "$run/root" && find . -mindepth 1 -print0 | sort -z |
		cpio -0 --quiet -o -H newc -R 0:0 --reproducible)
} >"$run/initramfs"

# Everything the kernel says goes to the console, so that the log that is
# searched for splats is complete even where the guest does not live to tell.
arguments=(
	console=hvc0 ignore_loglevel log_buf_len=4M printk.devkmsg=on
	panic=-1 oops=panic softlockup_panic=1 reboot=t
	tsc=reliable no_timer_check mitigations=off
)
# One host thread for all CPUs of the guest: with a thread for each, a CPU may run
# an int3 that another has patched away already, and the kernel dies of it. They
# still take turns in the middle of anything.
# shellcheck disable=SC2054
accel=(-accel tcg,thread=single -cpu max)
if [[ $icount ]]; then
	cpus=1
	# shellcheck disable=SC2054
	accel=(
		-icount shift=0,sleep=off -accel tcg,thread=single
		-cpu max,-rdrand,-rdseed -seed 42
		-rtc base=2026-01-01T00:00:00,clock=vm
	)
	arguments+=(
		nokaslr norandmaps randomize_kstack_offset=off clocksource=tsc
	)
fi
arguments+=("${append[@]}")

touch "$run/console"
mkfifo "$run/stdout" "$run/stderr"
# The guest goes on when whoever reads its output has read enough.
{ cat || cat >/dev/null; } <"$run/stdout" &
streams=($!)
{ cat || cat >/dev/null; } <"$run/stderr" >&2 &
streams+=($!)

# The limit is on this side: a guest that hangs keeps no time. No signal can be
# lost to a shell that was killed: then its child gets one, too.
started=$SECONDS
# A machine with a PIT and an HPET: without them the kernel finds no clock, and
# boots or not as the load of the host has it.
machine=${PROBEKIT_QEMU_MACHINE:-pc}
setpriv --pdeathsig TERM timeout -k 5 "$limit" \
	qemu-system-x86_64 -M "$machine" "${accel[@]}" -smp "$cpus" -m "$memory" \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$image" -initrd "$run/initramfs" -append "${arguments[*]}" \
	-chardev "file,id=console,path=$run/console" \
	-chardev "file,id=stdout,path=$run/stdout" \
	-chardev "file,id=stderr,path=$run/stderr" \
	-chardev "file,id=status,path=$run/status" \
	-chardev "file,id=files,path=$run/files" \
	-device virtio-serial-pci,ioeventfd=off,max_ports=8 \
	-device virtconsole,chardev=console \
	-device virtserialport,chardev=stdout,name=stdout \
	-device virtserialport,chardev=stderr,name=stderr \
	-device virtserialport,chardev=status,name=status \
	-device virtserialport,chardev=files,name=files \
	>"$run/qemu" 2>&1 </dev/null &
qemu=$!
ended=0
wait "$qemu" || ended=$?
qemu=
# QEMU that failed before it opened them would leave the readers waiting.
: <>"$run/stdout"
: <>"$run/stderr"
wait "${streams[@]}" || true

tr -d '\r' <"$run/console" >"$run/console.log"
cp "$run/console.log" "$build_dir/vmtest/console.log"

if [[ -s $run/files ]]; then
	mkdir -p "$out"
	tar -C "$out" --no-same-owner --warning=no-timestamp -xf "$run/files" ||
		say "the files from /out did not all arrive in $out"
fi

word='' status=''
if [[ -s $run/status ]]; then read -r word status <"$run/status"; fi

grep -v -e '^#' -e '^$' "$here/splats.txt" >"$run/splats"
splats=$(grep -n -E -f "$run/splats" "$run/console.log") || true
if [[ $splats ]]; then
	say 'the kernel complained:'
	printf '%s\n' "$splats" | head -n 40 >&2
fi

log=$build_dir/vmtest/console.log
if [[ $word != status ]]; then
	if ((ended == 124 || ended == 137)); then
		say "the guest did not end within $limit s; the end of its log:"
	elif [[ ! -s $run/console.log ]]; then
		say "QEMU or the kernel did not start (status $ended):"
		cat "$run/qemu" >&2
	else
		say "the guest crashed after $((SECONDS - started)) s; the end of its log:"
	fi
	tail -n 40 "$run/console.log" >&2
	say "the whole log: $log"
	exit 125
fi
# A log that does not reach from end to end cannot say that all was well.
if ! grep -q 'vmtest: begin' "$run/console.log" ||
	! grep -q 'vmtest: end' "$run/console.log"; then
	say "the kernel log $log is incomplete: nothing can be said about splats"
	exit 125
fi
if [[ $splats ]]; then
	say "status 124 for the above (the command's own was $status); the whole log: $log"
	exit 124
fi
exit "$status"
