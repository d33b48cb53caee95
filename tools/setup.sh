#!/usr/bin/env bash
# Makes the machine ready to build: Debian packages of packages.debian (as root or through sudo) and
# the Python environment .venv with requirements.txt. Does only what is missing.
#   PYTHON   interpreter that .venv is made from (default: python3 of the path)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

install_debian_packages() {
  local wanted missing run=()
  wanted=$(sed -e 's/#.*//' -e '/^\s*$/d' tools/packages.debian)
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; make sure of the counterparts of:" $wanted >&2
    return
  fi
  missing=$(comm -23 <(sort <<<"$wanted") \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null |
      sed -n 's/^installed //p' | sort))
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: missing Debian packages, and no sudo to install them. Run as root:" >&2
      echo "  apt-get install --no-install-recommends" $missing >&2
      exit 1
    fi
    run=(sudo)
  fi
  run+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  echo "setup: installing" $missing
  "${run[@]}" update
  "${run[@]}" install -y --no-install-recommends $missing
}

# make_command NAME MODULE FUNCTION: what an installed wheel has as a script.
make_command() {
  if [ ! -x ".venv/bin/$1" ]; then
    cat >".venv/bin/$1" <<END
#!$PWD/.venv/bin/python
import sys

from $2 import $3

sys.exit($3())
END
    chmod +x ".venv/bin/$1"
  fi
}

make_environment() {
  local python=${PYTHON:-python3} site stamp
  # Unusable when the interpreter it was made from is gone, or it was made without python3-venv.
  if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
      echo "setup: $("$python" -V) is too old: Argosy is built with Python 3.10 or newer." \
        "Do this: make build PYTHON=/usr/bin/python3" >&2
      exit 1
    }
    "$python" -m venv --clear .venv
  fi

  # The environment is moved or copied with the folder now and then; its paths are absolute.
  stamp=$PWD/$(sha256sum tools/requirements.txt | cut -c1-16)
  if [ "$(cat .venv/requirements.done 2>/dev/null)" != "$stamp" ]; then
    [ "$(sed -n 's/^command = .* //p' .venv/pyvenv.cfg)" = "$PWD/.venv" ] ||
      "$python" -m venv --clear .venv
    .venv/bin/python -m pip install -q --disable-pip-version-check -r tools/requirements.txt
    echo "$stamp" >.venv/requirements.done
  fi

  site=$(echo .venv/lib/python3.*/site-packages)
  if [ "$(cat "$site/argosy.pth" 2>/dev/null)" != "$PWD/python" ]; then
    echo "$PWD/python" >"$site/argosy.pth"
  fi
  make_command argosy argosy.cli main
  make_command fleetrun argosy.distributed.launch fleetrun
}

install_debian_packages
make_environment
