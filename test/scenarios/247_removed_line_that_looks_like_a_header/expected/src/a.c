a
++ y
b
