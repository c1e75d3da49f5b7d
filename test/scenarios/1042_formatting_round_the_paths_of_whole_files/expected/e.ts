new 4
