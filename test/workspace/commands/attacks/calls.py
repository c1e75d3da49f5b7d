"""Makes system calls that a sandbox refuses, and prints the error of each; 0: it worked."""
import ctypes, fcntl, os, platform, socket, termios

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == 'aarch64'

def call(name, numbers, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(numbers[1 if ARM else 0], *arguments)
    print(name, ctypes.get_errno() if result == -1 else 0)

SESSION = ctypes.c_long(-3)
text = lambda value: ctypes.c_char_p(value.encode())
call('keyctl', (250, 219), 0, SESSION, 1)
call('add_key', (248, 217), text('user'), text('emend-planted'), text('x'), 1, SESSION)
call('request_key', (249, 218), text('user'), text('emend-secret'), None, 0)
call('io_uring_setup', (425, 425), 8, ctypes.create_string_buffer(256))
call('io_uring_enter', (426, 426), -1, 0, 0, 0, None, 0)
call('io_uring_register', (427, 427), -1, 0, None, 0)
call('userfaultfd', (323, 282), 1)
call('fanotify_init', (300, 262), 0x200, 0)
call('bpf', (321, 280), 0, None, 0)
call('perf_event_open', (298, 241), ctypes.create_string_buffer(128), 0, -1, -1, 0)
call('open_by_handle_at', (304, 265), -100, ctypes.create_string_buffer(128), 0)
call('kexec_load', (246, 104), 0, 0, None, 0)
call('kexec_file_load', (320, 294), -1, -1, 0, None, 0)
call('unshare', (272, 97), 0x10000000)
if not ARM:
    call('x32', (0x40000000 + 39, 0))
controller, terminal = os.openpty()
for name, request in [('TIOCSTI', 0x5412), ('TIOCLINUX', 0x541C)]:
    ctypes.set_errno(0)
    result = libc.ioctl(terminal, request, text('x'))
    print(name, ctypes.get_errno() if result == -1 else 0)
FAMILIES = {'VSOCK': 40, 'PACKET': 17, 'ALG': 38, 'XDP': 44, 'TIPC': 30, 'CAN': 29, 'BLUETOOTH': 31,
            'UNIX': 1, 'INET': 2, 'INET6': 10}
for name, family in FAMILIES.items():
    ctypes.set_errno(0)
    result = libc.socket(family, 3 if name == 'PACKET' else 5 if name == 'ALG' else 1, 0)
    print('AF_' + name, ctypes.get_errno() if result == -1 else 0)
for name, protocol in [('ROUTE', 0), ('AUDIT', 9), ('KOBJECT_UEVENT', 15), ('SOCK_DIAG', 4)]:
    ctypes.set_errno(0)
    result = libc.socket(16, 3, protocol)
    print('NETLINK_' + name, ctypes.get_errno() if result == -1 else 0)
print('interfaces', 0 if socket.if_nameindex() else 1)
