class A:
    def f(self):
        a = 1
        b = 2

    def g(self):
        return 3
