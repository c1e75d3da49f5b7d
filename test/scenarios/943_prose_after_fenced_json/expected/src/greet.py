def greet():
    print("hi")


greet()
greet()
