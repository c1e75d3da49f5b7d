package m

// Counter counts.
type Counter struct {
	n int
}

// Add adds.
func (c *Counter) Add(by int) int {
	c.n += by
	return c.n
}

func First(x int) int {
	return x
}

type Adder interface {
	Add(by int) int
}
