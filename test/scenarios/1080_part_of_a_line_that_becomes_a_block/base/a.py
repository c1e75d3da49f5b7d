def f(xs):
    total(xs)
    done()
