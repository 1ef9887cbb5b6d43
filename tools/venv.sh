#!/bin/sh
# Make a virtual environment with the Python that PYTHON names, else with the first one found that fits.
# Where the environment is there already, only see to it that it is of the Python named. Usage: tools/venv.sh DIRECTORY
set -eu
directory=$1

version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

fits() {
    case "$(version "$1")" in 3.11 | 3.12 | 3.13) true ;; *) false ;; esac
}

if [ -n "${PYTHON:-}" ]; then
    if ! version "$PYTHON" >/dev/null; then
        echo "PYTHON=$PYTHON does not run; name a Python 3.11, 3.12 or 3.13, or leave PYTHON out." >&2
        exit 1
    fi
    if ! fits "$PYTHON"; then
        echo "PYTHON=$PYTHON is Python $(version "$PYTHON"); 3.11, 3.12 or 3.13 is needed. Name one, or leave PYTHON out." >&2
        exit 1
    fi
fi

if [ -x "$directory/bin/python" ]; then
    made=$(version "$directory/bin/python") || made="one that no longer runs"
    if [ -n "${PYTHON:-}" ] && [ "$made" != "$(version "$PYTHON")" ]; then
        echo "$directory was made with Python $made, but PYTHON=$PYTHON is $(version "$PYTHON")." \
            "Run \`make clean\` first, or leave PYTHON out." >&2
        exit 1
    fi
    exit 0
fi

for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    if fits "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "${python:-}" ]; then
    echo "No Python 3.11, 3.12 or 3.13 was found; install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2
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
