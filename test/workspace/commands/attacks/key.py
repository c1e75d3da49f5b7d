"""Reads a key of the session in which the worker was started, and leaves one there."""
import ctypes, platform

libc = ctypes.CDLL(None, use_errno=True)
KEYCTL, ADD_KEY = (219, 217) if platform.machine() == 'aarch64' else (250, 248)
SESSION = ctypes.c_long(-3)
text = lambda value: ctypes.c_char_p(value.encode())
key = libc.syscall(KEYCTL, 10, SESSION, text('user'), text('emend-secret'), 0)
value = ctypes.create_string_buffer(16)
print('READ', libc.syscall(KEYCTL, 11, ctypes.c_long(key), value, 16), value.value.decode())
print('PLANTED', libc.syscall(ADD_KEY, text('user'), text('emend-planted'), text('x'), 1, SESSION))
