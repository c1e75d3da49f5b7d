one
2
three
4
five
6
