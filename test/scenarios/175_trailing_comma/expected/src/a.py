import os

def first(x):
    if x:
        return 1
    return 0

def second(x):
    return first(x) + 1
x
