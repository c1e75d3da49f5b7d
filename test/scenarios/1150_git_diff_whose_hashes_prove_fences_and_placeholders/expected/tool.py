def load(path):
    # ... rest of the code ...
    return open(path).read()


def main():
    print(load("x"))
