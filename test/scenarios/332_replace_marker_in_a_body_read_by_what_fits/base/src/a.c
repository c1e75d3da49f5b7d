a
z
