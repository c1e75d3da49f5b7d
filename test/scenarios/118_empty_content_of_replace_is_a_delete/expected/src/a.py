import os

def first(x):
    return 0

def second(x):
    return first(x) + 1
