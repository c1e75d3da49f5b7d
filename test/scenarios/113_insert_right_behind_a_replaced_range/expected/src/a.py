import os

def first(x):
r
i
    return 0

def second(x):
    return first(x) + 1
