package fidelity

import "testing"

func (c *checks) cases(t *testing.T) {
}
