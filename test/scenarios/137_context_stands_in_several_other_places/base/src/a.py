a
same
b
same
c
same
d
