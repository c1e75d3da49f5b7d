new 0
