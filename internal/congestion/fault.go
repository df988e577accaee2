package congestion

// Fault is what stops a controller that does what none may; a run ends with it.
type Fault struct {
	Name string // of the algorithm
	What string // it did, without a subject: "panicked: ..."
}

func (f Fault) Error() string { return "controller " + f.Name + " " + f.What }
