"""Tries to connect to each socket, and reports which one answers. Also uses sockets of its own, which must work."""
import os, socket, sys, time

def answers(path):
    # A path of a socket has at most 107 bytes.
    os.chdir(os.path.dirname(path))
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        client.connect(os.path.basename(path))
        return client.recv(16) == b'answer'

time.sleep(float(sys.argv[1]))
for path in sys.argv[2:]:
    try:
        print('PWNED' if answers(path) else 'silent', path)
    except OSError as error:
        print('refused', path, error)

for place in ['/tmp', os.environ['W']]:
    os.chdir(place)
    server = socket.socket(socket.AF_UNIX)
    server.bind('own.sock')
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect('own.sock')
    server.accept()[0].send(b'own')
    print('OWN', place, client.recv(3) == b'own')
    os.unlink('own.sock')
first, second = socket.socketpair()
first.send(b'pair')
print('PAIR', second.recv(4) == b'pair')
