import os

def first(x):
    if x > 1:
        return 2
    return 0

def second(x):
    return first(x) + 1
