package m

// Counter counts.
type Counter struct {
	n int
}


func First(x int) int {
	return x
}

type Adder interface {
	Add(by int) int
}
