new 2
