a:
  b
    d
  c
