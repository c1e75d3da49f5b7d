function f() {
	if (a) {
		c();
		if (d)
			b();
	}
}
