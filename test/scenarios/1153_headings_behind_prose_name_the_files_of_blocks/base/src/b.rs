two
three
