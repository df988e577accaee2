// Package weak has tests that notice some changes and not others.
package weak

type counter struct{ n, calls int }

func (c *counter) add(n int) {
	c.n += n
	c.calls++ // nobody looks
}

func clamp(x, low, high int) int { return max(low, min(x, high)) }

func larger(a, b int) bool { return a > b } // not tried with equals

func next(x int) int { return x + 1 }

func both(a, b bool) bool { return a && b } // not tried with a alone

func never(a int) bool { return a == 7 } // not tried at all

func share(a, b int) int { return a - b }
