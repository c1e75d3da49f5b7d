new 3
