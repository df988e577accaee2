package fabric

// perClass is what ports know of classes that pause, are paused or overflow. Most classes
// carry nothing: there is room for a class as soon as one of the ports needs it.
type perClass[T any] [Classes][]T

// use returns the state of class c of port i, one of so many, to change it.
func (s *perClass[T]) use(c uint8, i, ports int) *T {
	if i >= len(s[c]) {
		s[c] = append(s[c], make([]T, ports-len(s[c]))...)
	}
	return &s[c][i]
}

// of returns a copy of the state of class c of port i.
func (s *perClass[T]) of(c uint8, i int) (t T) {
	if i < len(s[c]) {
		t = s[c][i]
	}
	return t
}
