a:
	b
