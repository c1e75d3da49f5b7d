new 1
