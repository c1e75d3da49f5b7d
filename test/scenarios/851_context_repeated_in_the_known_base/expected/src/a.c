a
}

b
}
new

c
