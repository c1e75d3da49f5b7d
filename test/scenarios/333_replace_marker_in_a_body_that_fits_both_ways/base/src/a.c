a
REPLACE:
b
x
a
