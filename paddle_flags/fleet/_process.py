"""What tells a process of this machine from all others, also from later ones with its number."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _SYNCHRONIZE, _QUERY_LIMITED_INFORMATION = 0x100000, 0x1000
    _STILL_RUNS = 258  # WAIT_TIMEOUT

    # A library object of its own: others may declare these functions otherwise.
    _kernel = ctypes.WinDLL("kernel32")
    _kernel.OpenProcess.argtypes = [wintypes.DWORD, wintypes.BOOL, wintypes.DWORD]
    _kernel.OpenProcess.restype = wintypes.HANDLE
    _kernel.WaitForSingleObject.argtypes = [wintypes.HANDLE, wintypes.DWORD]
    _kernel.GetProcessTimes.argtypes = [wintypes.HANDLE, *4 * [ctypes.POINTER(wintypes.FILETIME)]]
    _kernel.CloseHandle.argtypes = [wintypes.HANDLE]

    def read_process_start_id(pid: int) -> str:
        """Return the number of a process and when it began; "" if it doesn't run.

        Windows doesn't tell it of processes of other users.
        """
        handle = _kernel.OpenProcess(_SYNCHRONIZE | _QUERY_LIMITED_INFORMATION, False, pid)
        if not handle:
            return ""
        times = [wintypes.FILETIME() for _ in range(4)]
        try:
            runs = _kernel.WaitForSingleObject(handle, 0) == _STILL_RUNS
            known = _kernel.GetProcessTimes(handle, *times)
        finally:
            _kernel.CloseHandle(handle)
        began = times[0].dwHighDateTime << 32 | times[0].dwLowDateTime
        return f"{pid} {began}" if runs and known else ""

else:

    def read_process_start_id(pid: int) -> str:
        """Return the boot of the machine, the number, and when it began; "" if it doesn't run.

        One that has ended, and was not waited for, doesn't run.
        """
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            with open("/proc/sys/kernel/random/boot_id") as file:
                boot = file.read().strip()
        except OSError:
            return ""
        return "" if fields[0] in (b"Z", b"X") else f"{boot} {pid} {fields[19].decode()}"
