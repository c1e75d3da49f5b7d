def load(path):
    return open(path).read()


def main():
    print(load("x"))
