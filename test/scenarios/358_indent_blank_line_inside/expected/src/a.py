a:
    b

    d
