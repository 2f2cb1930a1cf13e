"""Attacks that nothing but the operating system holds: any code, at load or while predicting.

They are pickles that run Python as it is. Canaries are files, sockets and bytes of the test itself.
"""

from __future__ import annotations

import pickle
from typing import Any

__all__ = ["ATTACKS", "BY_LIMITS", "attack_file"]

_C = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True)\n"
_CHECK = "if made < 0: raise PermissionError(ctypes.get_errno(), 'refused')\n"

#: Name → code. Braces are filled in: {canary}, a file that is not there; {mark}, one that is;
#: {secret}, one to read; {port} and {socket} to call; {pid} and {address} of bytes to change.
ATTACKS = {
    "write a file": "open({canary!r}, 'w').write('was here')",
    "write a file by the C library": _C
    + "made = libc.open({canary!r}.encode(), os.O_CREAT | os.O_WRONLY, 0o600)\n"
    + _CHECK,
    "write a file by a thread": "import threading, os\n"
    "threading.Thread(target=lambda: open({canary!r}, 'w')).start()\n"
    "import time; time.sleep(0.2); os.stat({mark!r})",
    "make a folder": "import os; os.mkdir({canary!r})",
    "make a link": "import os; os.symlink('/etc/passwd', {canary!r})",
    "empty a file": "import os; os.truncate({mark!r}, 0)",
    "change a mode": "import os; os.chmod({mark!r}, 0o777)",
    "change times": "import os; os.utime({mark!r}, (1, 1))",
    "remove a file": "import os; os.remove({mark!r})",
    "rename a file": "import os; os.rename({mark!r}, {canary!r})",
    "read a file": "raise RuntimeError(open({secret!r}).read())",
    "map a file": "import mmap\n"
    "file = open({secret!r}, 'rb')\n"
    "raise RuntimeError(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:].decode())",
    "read the environment": "import os\n"
    "raise RuntimeError(os.environ.get('FAIRAUDIT_SECRET', 'nothing there'))",
    "read the environment of processes": "import glob\n"
    "found = [open(name, 'rb').read() for name in glob.glob('/proc/*/environ')]\n"
    "raise RuntimeError(str(found))",
    "call a host": "import socket; socket.create_connection(('127.0.0.1', {port}), timeout=2)",
    "send a packet": "import socket\n"
    "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "call a Unix socket": "import socket\nsocket.socket(socket.AF_UNIX).connect({socket!r})",
    "run a program": "import subprocess; subprocess.run(['touch', {canary!r}], check=True)",
    "run a program by the C library": _C
    + "made = libc.system(b'touch ' + {canary!r}.encode())\n"
    + "raise PermissionError(1, 'refused')",
    "start a process": "import os\nif os.fork() == 0: open({canary!r}, 'w'); os._exit(0)",
    "write to the memory of the caller": "with open('/proc/{pid}/mem', 'r+b') as memory:\n"
    "    memory.seek({address}); memory.write(b'changed!')",
    "write to the memory of the caller by a call": _C
    + "new = ctypes.create_string_buffer(b'changed!')\n"
    "one = (ctypes.c_uint64 * 2)(ctypes.addressof(new), 8)\n"
    "other = (ctypes.c_uint64 * 2)({address}, 8)\n"
    "one_long = ctypes.c_ulong(1)\n"
    "made = libc.process_vm_writev({pid}, one, one_long, other, one_long, ctypes.c_ulong(0))\n"
    + _CHECK,
    "trace the caller": _C + "made = libc.ptrace(0x4206, {pid}, None, None)\n" + _CHECK,
    "send a signal to the caller": "import os, signal; os.kill({pid}, signal.SIGUSR1)",
    "raise the limits": "import resource\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (2**40, 2**40))",
    "a new namespace": _C + "made = libc.unshare(0x10000000)\n" + _CHECK,
}

#: Those that the limits end; time and memory are {seconds} and {bytes}.
BY_LIMITS = {
    "a process that outlives the limit": "import os, time\n"
    "try:\n"
    "    if os.fork() == 0:\n"
    "        os.setsid(); time.sleep({seconds} + 3); open({canary!r}, 'w'); os._exit(0)\n"
    "except OSError: pass\n"
    "time.sleep(600)",
    "many processes": "import os, time\n"
    "made = 0\n"
    "for _ in range(60):\n"
    "    try:\n"
    "        if os.fork() == 0: time.sleep(600)\n"
    "    except OSError: pass\n"
    "time.sleep(600)",
    "native code without end": "import re, signal\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "re.match('(a+)+$', 'a' * 60 + 'b')",
    "too much memory": "x = bytearray({bytes})",
    "too much memory for native code": "import numpy\nx = numpy.ones({bytes}, dtype='u1')",
    "too many threads": "import threading, time\n"
    "for _ in range(5000): threading.Thread(target=time.sleep, args=(600,)).start()",
    "an end of its own": "import os; os._exit(0)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "an answer of its own": "import os\nos.write(3, b'\\xff' * 4096)",
    "a very long answer": "import os, struct\nos.write(3, struct.pack('<QI', 2**60, 1))",
    "an answer of another type": "import os, struct, json\n"
    "text = json.dumps(dict(content=dict(rows=1), arrays=[['|O', [1]]])).encode()\n"
    "os.write(3, struct.pack('<QI', len(text), 1) + text + b'12345678')",
    "a deep answer": "import os, struct\n"
    "os.write(3, struct.pack('<QI', 200000, 0) + b'[' * 200000)",
}


class _Runs:
    def __init__(self, function: Any, text: str) -> None:
        self.reduced = (function, (text,))

    def __reduce__(self) -> Any:
        return self.reduced


def attack_file(code: str, *, predicting: bool) -> bytes:
    """A pickle that runs the code when it is opened, or when its model is asked."""
    if not predicting:
        return pickle.dumps(_Runs(exec, code))
    call = f"lambda self, rows: (exec({code!r}, dict()), rows.iloc[:, 0])[1]"
    return pickle.dumps(_Runs(eval, f"type('Model', (), dict(predict={call}))()"))
