"""Runs a command on a pseudo-terminal and types for a person: terminal.py COLUMNS STEPS_JSON COMMAND ARG...

STEPS_JSON is a list of [wait_for, send]: each text is awaited in the output that came after the step before, then `send` is typed;
null closes the terminal.
Prints one JSON object: {"out": everything that was shown, "exit": code, "missing": the text that did not come, or null}.
"""
import fcntl, json, os, pty, select, struct, sys, termios, time

LIMIT_S = 60
columns, steps, command = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
out, seen, missing = b'', 0, None


def read(until):
    """More output, or False at its end or when `until` has passed."""
    global out
    ready, _, _ = select.select([fd], [], [], max(0.0, until - time.time()))
    if not ready:
        return False
    try:
        part = os.read(fd, 65536)
    except OSError:
        return False
    out += part
    return part != b''


for wait_for, send in steps:
    until = time.time() + LIMIT_S
    wanted = wait_for.encode()
    while wanted not in out[seen:]:
        if not read(until):
            missing = wait_for
            break
    if missing is not None:
        break
    seen += out[seen:].index(wanted) + len(wanted)
    if send is None:
        os.close(fd)
        fd = None
        break
    os.write(fd, send.encode())
if missing is not None:
    os.kill(pid, 9)
until = time.time() + LIMIT_S
while fd is not None and read(until):
    pass
_, status = os.waitpid(pid, 0)
print(json.dumps({'out': out.decode('utf-8', 'replace'), 'exit': os.waitstatus_to_exitcode(status), 'missing': missing}))
