"""What the operating system says of this machine: processor, usable CPUs, memory, cache; None where it does not say."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_MEMINFO = Path("/proc/meminfo")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CGROUP = Path("/sys/fs/cgroup")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def cpu_name() -> str | None:
    """The processor as it calls itself."""
    if match := re.search(r"^model name\s*:\s*(.+)$", _read(_CPUINFO), re.MULTILINE):
        return match.group(1).strip()[:80]
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string")
    return platform.processor().strip()[:80] or None


def usable_cpus() -> int:
    """CPUs that this process may run on, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def total_memory() -> int | None:
    """Memory of the machine, or of the container where that is less [bytes]."""
    limit = _cgroup("memory.max")
    physical = _pages("SC_PHYS_PAGES")
    known = [size for size in (limit, physical) if size]
    return min(known, default=None)


def available_memory() -> int | None:
    """Memory that can be taken without swapping, within the container's limit [bytes]."""
    match = re.search(r"^MemAvailable:\s*(\d+) kB$", _read(_MEMINFO), re.MULTILINE)
    free = int(match.group(1)) * 1024 if match else _pages("SC_AVPHYS_PAGES") or total_memory()
    limit, used = _cgroup("memory.max"), _cgroup("memory.current")
    if limit is not None and used is not None:
        left = max(limit - used, 0)
        return left if free is None else min(free, left)
    return free


def last_level_cache() -> int | None:
    """The largest cache of the first CPU [bytes]."""
    if sys.platform == "darwin":
        size = _sysctl("hw.l3cachesize") or _sysctl("hw.l2cachesize")
        return int(size) if size and size.isdigit() else None
    sizes = []
    for path in sorted(_CACHES.glob("index*/size")) if _CACHES.is_dir() else []:
        if match := re.fullmatch(r"(\d+)([KMG])", _read(path).strip()):
            sizes.append(int(match.group(1)) * _UNITS[match.group(2)])
    return max(sizes, default=None)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cgroup(name: str) -> int | None:
    content = _read(_CGROUP / name).strip()
    return int(content) if content.isdigit() else None


def _pages(name: str) -> int | None:
    try:
        pages, size = os.sysconf(name), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    return pages * size if pages > 0 and size > 0 else None


def _sysctl(name: str) -> str | None:
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()[:80] or None
