// Package congestion holds the congestion controllers as pure state machines:
// time is an argument, nothing is scheduled, timers are evaluated lazily in the
// order in which they would have fired.
package congestion
