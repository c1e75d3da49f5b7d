def greet():
    print("hello")


greet()  # once
