import os

def first(x):
    if x:
        return 2
    return 0

def second(x):
    return first(x) + 1
