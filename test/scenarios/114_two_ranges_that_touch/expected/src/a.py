import os

def first(x):
r

def second(x):
    return first(x) + 1
