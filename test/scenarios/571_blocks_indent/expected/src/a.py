class A:
    def f(self):
        x = 2
        if x:
            return x
        return 0

    def g(self):
        return 2
