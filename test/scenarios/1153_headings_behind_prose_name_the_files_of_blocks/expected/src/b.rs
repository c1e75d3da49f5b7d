2
three
