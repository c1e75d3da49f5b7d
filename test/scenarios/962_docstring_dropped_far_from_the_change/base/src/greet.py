"""Greets.

Twice.
"""

import os

HOME = os.environ["HOME"]

LIMIT = 3


def greet():
    print(LIMIT)
