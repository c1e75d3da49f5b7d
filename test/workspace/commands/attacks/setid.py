"""Makes programs with setuid and setgid bits in a directory in every way, and prints the name and the mode of what is there."""
import ctypes, os, platform, stat, sys

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == 'aarch64'
CREATE = os.O_CREAT | os.O_WRONLY
HERE = -100
os.umask(0)
os.chdir(sys.argv[1])

def file(name):
    open(name, 'w').write('#!/bin/sh\n')
    os.chmod(name, 0o755)
    return name.encode()

def temporary(mode):
    fd = os.open('.', os.O_TMPFILE | os.O_WRONLY, mode)
    FOLLOW = 0x400
    libc.linkat(HERE, b'/proc/self/fd/%d' % fd, HERE, b'O_TMPFILE', FOLLOW)

def openat2(mode):
    how = (ctypes.c_uint64 * 3)(CREATE, mode, 0)
    libc.syscall(437, HERE, b'openat2', how, 24)

WAYS = {
    'chmod': lambda mode: libc.chmod(file('chmod'), mode),
    'fchmod': lambda mode: os.fchmod(os.open(file('fchmod'), os.O_RDONLY), mode),
    'fchmodat': lambda mode: libc.syscall(53 if ARM else 268, HERE, file('fchmodat'), mode),
    'fchmodat2': lambda mode: libc.syscall(452, HERE, file('fchmodat2'), mode, 0),
    'openat': lambda mode: os.open('openat', CREATE, mode),
    'O_TMPFILE': temporary,
    'mknodat': lambda mode: libc.syscall(33 if ARM else 259, HERE, b'mknodat', stat.S_IFREG | mode, 0),
    'openat2': openat2,
}
if not ARM:
    WAYS['open'] = lambda mode: libc.syscall(2, b'open', CREATE, mode)
    WAYS['creat'] = lambda mode: libc.syscall(85, b'creat', mode)
    WAYS['mknod'] = lambda mode: libc.syscall(133, b'mknod', stat.S_IFREG | mode, 0)

for kind in [stat.S_ISUID, stat.S_ISGID]:
    os.makedirs('%o' % kind)
    os.chdir('%o' % kind)
    for name, way in WAYS.items():
        try:
            way(kind | 0o755)
        except OSError as error:
            print('refused', name, error.errno)
    os.chdir('..')
    for name in sorted(os.listdir('%o' % kind)):
        print(name, '%o' % stat.S_IMODE(os.stat('%o/%s' % (kind, name)).st_mode))
