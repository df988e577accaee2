package main

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope"
	"github.com/hopscope/hopscope/conformance"
)

func TestConformance(t *testing.T) { conformance.Controller(t, Headway()) }

// Headway keeps the queue of an incast below what DCQCN lets it come to, and nobody is paused.
func TestIncast(t *testing.T) {
	lib, err := hopscope.New(hopscope.WithControllers(Headway()))
	if err != nil {
		t.Fatal(err)
	}
	peak := func(changes ...hopscope.Change) (bytes int64) {
		s, err := lib.Load("incast-4to1", changes...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Ports {
			bytes = max(bytes, r.Ports[i].PeakQueueBytes)
		}
		if a := r.Answer(hopscope.Held); a.Happened {
			t.Errorf("held: %+v", a.First)
		}
		return bytes
	}
	dcqcn, own := peak(), peak(hopscope.Set("controller", "headway"))
	if own*2 > dcqcn {
		t.Errorf("the longest queue is %d bytes, with DCQCN %d", own, dcqcn)
	}
}
