import os

HOME = os.environ["HOME"]

LIMIT = 4


def greet():
    print(LIMIT)
