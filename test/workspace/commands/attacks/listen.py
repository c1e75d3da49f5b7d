"""Listens on the sockets of a user: names from standard input, one a line, each `directory name how`. Prints a line for each."""
import os, socket, sys, threading

def answer(server):
    while True:
        connection, _ = server.accept()
        connection.send(b'answer')
        connection.close()

for line in sys.stdin:
    directory, name, how = line.split()
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    os.chmod(name, 0o777)
    server.listen()
    threading.Thread(target=answer, args=(server,), daemon=True).start()
    if how == 'renamed':
        os.rename(directory, directory + '-renamed')
    if how == 'linked':
        os.link(name, name + '-linked')
    print('listens', directory, name, how, flush=True)
