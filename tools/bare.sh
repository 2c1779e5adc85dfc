#!/bin/bash
# Run the commands of README's "Try it" on a minimal Debian with nothing else on it: its apt-get line
# as root, then its make lines in a clean clone of HEAD, as an ordinary user with private files (umask
# 077), as root, or as both; or, with `none`, install and run nothing of README. Then run more shell
# commands in the clone, as root; DIR is their /mnt.
#   tools/bare.sh SUITE DIR [user|root|none ...] [-- COMMAND ...]     user and root by default
# SUITE is bookworm (Debian 12), trixie (13), sid (unstable) or another one that debootstrap knows;
# trixie/arm64 is Debian 13 for another processor, which qemu-user-static emulates.
# DIR/system is replaced. Downloads are kept in ${PD_CACHE:-build/cache}. apt and pip use this
# machine's sources. Needs debootstrap.
set -euo pipefail

# Map all users to themselves in this process's user namespace, once it has one of its own.
map_users() {
  while [[ /proc/$$/ns/user -ef /proc/self/ns/user ]]; do sleep 0.1; done
  echo 0 0 65536 | tee /proc/$$/gid_map >/proc/$$/uid_map
}

# This script runs in mount and process namespaces of its own, which end with it. The emulator is
# registered in a user namespace of its own, with the same users, from Linux 6.7 on.
if [[ ! ${PD_BARE_INSIDE-} ]]; then
  ((EUID == 0)) || { echo "bare.sh: needs root, for chroot and mount" >&2; exit 1; }
  command -v debootstrap >/dev/null ||
    { echo "bare.sh: debootstrap is missing: apt-get install debootstrap" >&2; exit 1; }
  (($# > 1)) || { sed -n 's/^# *//; 2,9p' "$0" >&2; exit 2; }
  export PD_BARE_INSIDE=1
  namespaces=(unshare --mount --propagation private --pid --fork --kill-child --mount-proc)
  [[ $1 == */* ]] || exec "${namespaces[@]}" "$0" "$@"
  map_users &
  # The capabilities of root come with the first program that starts after users are mapped.
  exec unshare --user sh -c \
    'until read -r _ </proc/self/uid_map; do sleep 0.1; done; exec "$@"' sh "${namespaces[@]}" "$0" "$@"
fi

trap 'exit 130' INT TERM # the first process of a namespace would ignore the signals
tree=$(cd "$(dirname "$0")/.." && pwd)
suite=${1%/*}
[[ $1 != */* ]] || machine=${1#*/}
mkdir -p "$2" "${PD_CACHE:-$tree/build/cache}/$1"
cache=$(cd "${PD_CACHE:-$tree/build/cache}/$1" && pwd)
system=$(cd "$2" && pwd)/system
shift 2
TIMEFORMAT="bare: %R s, of it %U s + %S s of processors"

say() { printf '\nbare: %s\n' "$*"; }

# Print the Debian repositories in this machine's apt configuration, as lines of sources.list.
debian_sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | sort -u
}

# Print those of the suite; on a machine of another suite, the suite at this machine's mirror.
suite_sources() {
  debian_sources | grep " $suite" ||
    debian_sources | awk '$3 !~ /-/ { print $1, $2, "'"$suite"'", "main"; exit }'
}

# Print pip's settings for reaching its index, as environment variables.
pip_settings() {
  local key value place
  for key in cert index-url proxy timeout trusted-host; do
    for place in global :env:; do
      value=$(python3 -m pip config get "$place.$key" 2>/dev/null) || continue
      key=${key^^}
      printf 'PIP_%s=%s\n' "${key//-/_}" "$value"
      break
    done
  done
}

# Have Linux run programs for other processors with QEMU, as long as this script runs.
emulate_machines() {
  local format formats=(/usr/lib/binfmt.d/qemu-*.conf)
  [[ -e ${formats[0]} ]] ||
    { echo "bare.sh: ${formats[0]} is missing: apt-get install qemu-user-static" >&2; exit 1; }
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  for format in "${formats[@]}"; do cat "$format" >/proc/sys/fs/binfmt_misc/register; done
  export container=lxc # so that debootstrap binds devices, which it can't make in this namespace
}

# Unpack a minimal system; download it if that hasn't been done.
make_system() {
  local base=$cache/minbase.tar mirror
  rm -rf --one-file-system "$system"
  mkdir -p "$system"
  if [[ ! -e $base ]]; then
    say "Downloading a minimal Debian ($suite)"
    mirror=$(suite_sources | awk '$3 == "'"$suite"'" { print $2; exit }')
    # shellcheck disable=SC2086  # without a mirror, debootstrap has its own
    debootstrap ${machine:+"--arch=$machine"} --variant=minbase "$suite" "$system" $mirror \
      >"$cache/debootstrap.log" || { tail "$cache/debootstrap.log" >&2; exit 1; }
    rm -rf "$system"/var/cache/apt/archives/*.deb
    tar -C "$system" --numeric-owner -cf "$base.part" .
    mv "$base.part" "$base"
  else
    tar -C "$system" --numeric-owner -xf "$base"
  fi
}

# Give the system the network configuration of this machine.
configure_network() {
  local sources
  cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
  sources=$(suite_sources)
  [[ -z $sources ]] || echo "$sources" >"$system/etc/apt/sources.list"
  apt-config dump | grep -i '^Acquire::.*proxy' >"$system/etc/apt/apt.conf.d/90proxy" || true
  # A mirror that is a snapshot of unstable is out of date after some days.
  echo 'Acquire::Check-Valid-Until "false";' >"$system/etc/apt/apt.conf.d/90snapshot"
  mapfile -t settings < <(
    pip_settings
    env | grep -iE '^(https?_proxy|no_proxy|SSL_CERT_FILE|PYTEST_ADDOPTS|PD_PASSED_TO)=' || true
  )
}

# Copy the certificate bundles that the settings name, which a package may have replaced.
copy_certificates() {
  local file
  for file in "${settings[@]#*=}"; do
    [[ $file != /* || ! -f $file ]] || install -D -m 644 "$file" "$system$file"
  done
}

mount_system() {
  mount -t proc proc "$system/proc"
  mount -t tmpfs -o mode=755 tmpfs "$system/dev"
  local name
  for name in null zero full random urandom tty; do
    touch "$system/dev/$name"
    mount --bind "/dev/$name" "$system/dev/$name"
  done
  mkdir "$system/dev/pts" "$system/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$system/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
  ln -s pts/ptmx "$system/dev/ptmx"
  ln -s /proc/self/fd "$system/dev/fd"
  mkdir -p "$cache/apt/partial"
  mount --bind "$cache/apt" "$system/var/cache/apt/archives"
  mount --bind "$(dirname "$system")" "$system/mnt"
}

# Run a command in the system as USER, with a clean environment.
within() {
  local user=$1 home=$2
  shift 2
  chroot --userspec="$user" "$system" /usr/bin/env -i HOME="$home" USER="$user" TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    "${settings[@]}" "$@"
}

# Print the commands in README's section "Try it", without their comments.
readme() {
  sed -n '/^## Try it/,/^## /p' "$tree/README.md" | sed -n "s/ *#.*//; s/^\($1 .*\)/\1/p"
}

install_packages() {
  local command
  command=$(readme apt-get)
  [[ -n $command ]] || { echo "bare.sh: README's \"Try it\" has no line of apt-get" >&2; exit 1; }
  within root /root apt-get -qq update
  say "$command"
  # shellcheck disable=SC2086
  time within root /root DEBIAN_FRONTEND=noninteractive $command --yes >"$cache/apt.log" 2>&1 ||
    { tail -n 20 "$cache/apt.log" >&2; exit 1; }
  grep -E '^(Need to get|After this)' "$cache/apt.log"
}

# Run COMMAND in a clone that belongs to USER, made on first use.
run_as() {
  local user=$1 home=$2 mask=$3 clone=$2/paddle_flags status=0
  shift 3
  if [[ ! -e $system$clone ]]; then
    git clone --quiet --no-hardlinks --no-local "$tree" "$system$clone"
    [[ $user == root ]] || {
      chmod -R go-rwx "$system$clone"
      within root /root chown -R "$user:" "$clone"
    }
  fi
  mkdir -p "$cache/pip-$user"
  mkdir -p "$system$home/.cache/pip"
  mount --bind "$cache/pip-$user" "$system$home/.cache/pip"
  within root /root chown -R "$user:" "$home/.cache"
  say "$*, as $user with umask $mask"
  time within "$user" "$home" sh -c "umask $mask && cd $clone && $*" </dev/null || status=$?
  umount "$system$home/.cache/pip"
  printf 'bare: %s of packages in .venv\n' "$(du -sh "$system$clone/.venv" 2>/dev/null | cut -f1)"
  ((status == 0)) || { say "$* failed as $user, with status $status" >&2; exit 1; }
}

git -C "$tree" diff --quiet HEAD || say "What is not committed is left out."
[[ ! ${machine-} ]] || emulate_machines
make_system
configure_network
copy_certificates
mount_system
[[ ${1-} == none ]] || install_packages
copy_certificates
mapfile -t commands < <(readme make)
((${#commands[@]})) || { echo "bare.sh: README's \"Try it\" has no line of make" >&2; exit 1; }
(($#)) || set -- user root
while (($#)); do
  case $1 in
    user)
      within root /root useradd --create-home --shell /bin/sh somebody
      for command in "${commands[@]}"; do run_as somebody /home/somebody 077 "$command"; done
      ;;
    root)
      for command in "${commands[@]}"; do run_as root /root 022 "$command"; done
      ;;
    none) ;;
    --)
      for command in "${@:2}"; do run_as root /root 022 "$command"; done
      break
      ;;
    *)
      echo "bare.sh: $1: expected user, root, none or --" >&2
      exit 2
      ;;
  esac
  shift
done
say "Everything worked on a minimal Debian ($suite)"
