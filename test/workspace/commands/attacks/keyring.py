"""Starts a sandbox from a session with a key, as a worker that was started from a login has one, and reports what the sandbox left there."""
import ctypes, os, platform, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
KEYCTL, ADD_KEY = (219, 217) if platform.machine() == 'aarch64' else (250, 248)
SESSION = ctypes.c_long(-3)
text = lambda value: ctypes.c_char_p(value.encode())
search = lambda name: libc.syscall(KEYCTL, 10, SESSION, text('user'), text(name), 0)

report, *command = sys.argv[1:]
if '--json-status-fd' not in command:
    os.execv(command[0], command)
libc.syscall(KEYCTL, 1, None)
libc.syscall(ADD_KEY, text('user'), text('emend-secret'), text('secret'), 6, SESSION)
ended = subprocess.run(command, close_fds=False)
with open(report, 'w') as file:
    file.write('secret ' + ('there' if search('emend-secret') > 0 else 'gone') + '\n')
    file.write('planted ' + ('there' if search('emend-planted') > 0 else 'gone') + '\n')
sys.exit(ended.returncode)
