b
REPLACE:
c
z
