def f(xs):
    for x in xs:
        total(x)
    done()
