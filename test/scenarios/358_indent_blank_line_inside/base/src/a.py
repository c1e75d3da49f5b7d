a:
    b

    c
