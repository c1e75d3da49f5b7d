a:
  b
  c
