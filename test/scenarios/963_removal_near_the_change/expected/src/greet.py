"""Greets.

Twice.
"""

import os

HOME = os.environ["PWD"]


def greet():
    print(LIMIT)
