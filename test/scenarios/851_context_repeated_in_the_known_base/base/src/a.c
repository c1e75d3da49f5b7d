a
}

b
}

c
