import os

def first(x):
    if x:
        return 1
    a
    b
    c

def second(x):
    return first(x) + 1
