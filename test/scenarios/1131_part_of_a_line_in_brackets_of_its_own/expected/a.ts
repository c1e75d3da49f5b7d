show(size(count))
