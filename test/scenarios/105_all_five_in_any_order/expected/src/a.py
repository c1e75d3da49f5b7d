a
import os
def first(x):
    if x:
        # why
        return 1
    return 0

def second(x):
    return 9
z
