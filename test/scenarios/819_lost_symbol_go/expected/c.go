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


type Adder interface {
	Add(by int) int
}
