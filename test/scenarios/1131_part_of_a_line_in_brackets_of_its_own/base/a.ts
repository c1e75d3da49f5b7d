show(count)
