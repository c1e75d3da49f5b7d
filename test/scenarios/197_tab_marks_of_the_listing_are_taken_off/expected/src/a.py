a:
	c
