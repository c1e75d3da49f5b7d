import os

def first(x):
    return int(x)

def second(x):
    return first(x) + 1
