#!/bin/sh
# Make a virtual environment with the first Python from 3.11 on. Usage: tools/venv.sh DIRECTORY
set -eu
directory=$1

recent() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
    if recent "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "${python:-}" ]; then
    echo "Python 3.11 or newer was not found; install it, or name it: make PYTHON=/path/to/python3.11 ..." >&2
    exit 1
fi

# Debian's python3 comes without ensurepip, which a virtual environment needs; the package python3-venv brings it.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv
    else
        echo "$python has no ensurepip; install the package python3-venv (Debian, Ubuntu) and try again." >&2
        exit 1
    fi
fi
"$python" -m venv "$directory"
