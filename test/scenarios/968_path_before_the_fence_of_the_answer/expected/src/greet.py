def greet():
    print("hello")


greet()
