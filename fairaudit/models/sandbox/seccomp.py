"""A filter of system calls (seccomp): no sockets, no programs, no processes, no files to write.

What a model needs stays allowed: memory, threads, clocks, files opened for reading. What is listed
here answers "not permitted"; the filter cannot be taken off again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator

from fairaudit.models.sandbox.kernel import MACHINE, system_call

__all__ = ["filter_calls", "program"]

# Name → number on x86_64 and on aarch64 (None: not there), from the kernel's own tables.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # sockets, and file descriptors passed through them
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "recvmsg": (47, 212),
    "recvmmsg": (299, 243),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # programs and processes, one's own and those of others
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272),
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setrlimit": (160, 164),
    # what files are, and what Landlock does not see (owner, mode, times)
    "creat": (85, None),
    "truncate": (76, 45),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "utimensat": (280, 88),
    "futimesat": (261, None),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    # memory and queues shared with other processes, keys
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # the system itself
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "personality": (135, 92),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
_ABSENT = {"clone3": (435, 435), "openat2": (437, 437)}  # glibc then takes clone and openat
_CLONE, _OPEN, _OPENAT, _PRLIMIT = (56, 220), (2, None), (257, 56), (302, 261)
_SIGNAL_TO_THREAD = (234, 131)  # tgkill

_ARCHITECTURE = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE_THREAD = 0x10000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# BPF: load a word, jump if equal, greater or equal, or if bits are set; return
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE_WORD, _ARGUMENTS = 0, 4, 16  # in struct seccomp_data
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NOT_PERMITTED = _ERRNO | errno.EPERM
_SET_FILTER = 1


def program(machine: str = MACHINE, process: int = 0) -> bytes:
    """The filter in the kernel's own language (classic BPF); `process` may signal itself."""
    if machine not in _ARCHITECTURE:
        raise OSError(errno.ENOSYS, f"no filter is written for {machine or 'this machine'}")
    return b"".join(_instructions(machine, process))


def filter_calls() -> None:
    """Put the filter on this thread and all that it will start; no way back."""
    code = program(process=os.getpid())
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    system_call("seccomp", _SET_FILTER, 0, ctypes.create_string_buffer(head, len(head)))


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _instructions(machine: str, process: int) -> Iterator[bytes]:
    column, architecture = _ARCHITECTURE[machine]
    yield _step(_LOAD, _MACHINE_WORD)
    yield _step(_EQUAL, architecture, 1, 0)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER)
    if machine == "x86_64":  # numbers of the x32 interface, a way around the others
        yield _step(_AT_LEAST, 0x40000000, 0, 1)
        yield _step(_RETURN, _KILL)
    for numbers, answer in (
        *((numbers, _NOT_PERMITTED) for numbers in _REFUSED.values()),
        *((numbers, _ERRNO | errno.ENOSYS) for numbers in _ABSENT.values()),
    ):
        if (number := numbers[column]) is not None:
            yield _step(_EQUAL, number, 0, 1)
            yield _step(_RETURN, answer)
    yield from _by_argument(_CLONE[column], 0, _CLONE_THREAD, _ALLOW, _NOT_PERMITTED)
    refused_writes = (_ERRNO | errno.EACCES, _ALLOW)
    yield from _by_argument(_OPEN[column], 1, _WRITES, *refused_writes)
    yield from _by_argument(_OPENAT[column], 2, _WRITES, *refused_writes)
    for half in (0, 4):  # a pointer to new limits, in two words; reading limits has none
        yield from _by_argument(_PRLIMIT[column], 2, 0xFFFFFFFF, _NOT_PERMITTED, None, offset=half)
    yield _step(_EQUAL, _SIGNAL_TO_THREAD[column], 0, 3)
    yield _step(_LOAD, _ARGUMENTS)
    yield _step(_EQUAL, process, 1, 0)
    yield _step(_RETURN, _NOT_PERMITTED)
    yield _step(_RETURN, _ALLOW)


def _by_argument(
    number: int | None,
    argument: int,
    bits: int,
    if_set: int,
    otherwise: int | None,
    *,
    offset: int = 0,
) -> Iterator[bytes]:
    """What a call gets if its argument has any of these bits; None: the steps that follow."""
    if number is None:
        return
    last = _step(_LOAD, _NUMBER) if otherwise is None else _step(_RETURN, otherwise)
    yield _step(_EQUAL, number, 0, 4)
    yield _step(_LOAD, _ARGUMENTS + 8 * argument + offset)
    yield _step(_BITS, bits, 0, 1)
    yield _step(_RETURN, if_set)
    yield last
