package card

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// What the cards of NVIDIA have in common. A pipeline is what published latencies leave when
// doorbell, PCIe and memory (package server: 530 ns of a small WRITE with BlueFlame) and the
// wire are taken off, halved; docs/models/nic.md compares all of them.
const (
	lumina      = "Lumina (SIGCOMM 2023), to be confirmed"
	mlx5Blue    = "rdma-core providers/mlx5: a BlueFlame buffer of 256 B takes a work request that is posted alone"
	mlx5Inline  = "perftest's limits of 236 B (SEND) and 220 B (WRITE) are such a work request less its headers"
	nakCNP      = "Lumina's checker of CNPs (cnp_check.py): yes, while the notification point and slow restart are on"
	noNAKCNP    = "Lumina's checker of CNPs (cnp_check.py): no"
	slowShipped = "roce_slow_restart_en is 1 as shipped; its rule is not published, see docs/models/rc.md"
	perPort     = "disputed: firmware's text counts per port (dcqcn.cnp_limiter), Lumina's checker finds limiters per port, per destination and per pair"
)

func connectX5() Spec {
	s := Spec{Name: "connectx-5", PCIeGen: 3, Port: 100 * units.Gbps, Send: 160 * units.Nanosecond, Receive: 160 * units.Nanosecond,
		BlueFlame: 256, QPGap: 125 * units.Nanosecond, Gap: 5 * units.Nanosecond,
		NAKDelay: 2 * units.Microsecond, NAKReaction: 4 * units.Microsecond, NAKNotifies: true,
		AdaptiveMin: 2048 * units.Microsecond, SlowRestart: true}
	s.explain(&sources{
		pcie: "data sheet: generation 3, or 4 as ConnectX-5 Ex",
		pipeline: "disputed: 150 ns from 1.72 us of an 8 B SEND between GPUs (linux-rdma/perftest pull 98), 170 ns from a 32 B READ in 2.0 us " +
			"through one switch (eRPC, NSDI 2019)",
		blueFlame:   mlx5Blue + "; " + mlx5Inline,
		qpRate:      "8.0 million 8 B SENDs per second of one queue pair (linux-rdma/perftest pull 98)",
		rate:        "data sheet: 200 million messages per second",
		nakDelay:    lumina + ": a few us",
		nakReaction: lumina + ": 2 to 6 us",
		nakCNP:      nakCNP,
		adaptive:    "2, 4, 8, 16 ms whatever the timeout asked for (linux-rdma/perftest issue 251); as 4 us * 2^9",
		slow:        slowShipped,
		bitmap:      "none is known",
		limiter:     perPort,
	})
	return s
}

func connectX6(name string) Spec {
	s := Spec{Name: name, PCIeGen: 4, Port: 200 * units.Gbps, Send: 220 * units.Nanosecond, Receive: 220 * units.Nanosecond,
		BlueFlame: 256, QPGap: 205 * units.Nanosecond, Gap: units.Second / 215e6,
		NAKDelay: 2 * units.Microsecond, NAKReaction: 4 * units.Microsecond, NAKNotifies: true,
		AdaptiveMin: 4096 * units.Microsecond, SlowRestart: true, Bitmap: 128}
	s.explain(&sources{
		pcie: "data sheet: generation 4",
		pipeline: "disputed: 230 ns from 1.00 us of a 2 B SEND between two cards, 200 to 240 ns from 1.60 us through the switches of a cloud " +
			"(Azure HB120rs_v3), whose number is not published",
		blueFlame: mlx5Blue + "; " + mlx5Inline,
		qpRate:    "4.87 million 2 B SENDs per second of one queue pair (ib_send_bw, Azure HB120rs_v3); disputed: 2.8 over the loop of one card (superbench), where both ends share it",
		rate:      "data sheet: 215 million messages per second",
		nakDelay:  lumina + ": a few us", nakReaction: lumina + ": 2 to 6 us",
		nakCNP: nakCNP,
		adaptive: "disputed: 4.1 ms is the shortest of a ConnectX-6 Dx in Lumina (to be confirmed), ConnectX-5 has 2 ms (linux-rdma/perftest issue 251), " +
			"and some 10 ms were seen over 30 ms of round trip (NVIDIA/nccl issue 1555)",
		slow:    slowShipped,
		bitmap:  "RDMA_SELECTIVE_REPEAT_EN False, LOG_TX_PSN_WINDOW 7 (mstconfig, ConnectX-6 Dx): there and off",
		limiter: perPort,
	})
	return s
}

// connectX6Dx is ConnectX-6 without InfiniBand (data sheet: Ethernet adapter).
func connectX6Dx() Spec {
	s := connectX6("connectx-6-dx")
	s.EthernetOnly = true
	return s
}

func connectX7() Spec {
	s := connectX6("connectx-7")
	s.notes = nil
	s.PCIeGen, s.Port, s.Send, s.Receive, s.Gap = 5, 400*units.Gbps, 450*units.Nanosecond, 450*units.Nanosecond, units.Second/350e6
	s.explain(&sources{
		pcie: "data sheet: generation 5",
		pipeline: "disputed: 470 ns from 1.47 us of a 2 B WRITE between two DGX Spark, 700 ns from 2.0 us between two servers, " +
			"where generation 5 root ports may be slower than the model's",
		blueFlame: mlx5Blue + "; " + mlx5Inline,
		qpRate:    "assumed: as ConnectX-6",
		rate:      "data sheet: 330 to 370 million messages per second",
		nakDelay:  "assumed: as ConnectX-6 Dx", nakReaction: "assumed: as ConnectX-6 Dx",
		nakCNP: "assumed: as ConnectX-6", adaptive: "assumed: as ConnectX-6 Dx", slow: slowShipped,
		bitmap: "assumed: as ConnectX-6 Dx, off as shipped", limiter: perPort,
	})
	return s
}

func e810() Spec {
	const none = "assumed: nothing is published"
	s := Spec{Name: "e810", EthernetOnly: true, IWARP: true, PCIeGen: 4, Port: 100 * units.Gbps, Send: 220 * units.Nanosecond, Receive: 220 * units.Nanosecond,
		BlueFlame: 256, Limits: true, CNPScope: congestion.PerQueuePair, CNPInterval: 50 * units.Microsecond,
		NAKDelay: 2 * units.Microsecond, NAKReaction: 4 * units.Microsecond}
	s.explain(&sources{
		pcie:      "data sheet: generation 4",
		pipeline:  "assumed: as ConnectX-6, for nothing is published",
		blueFlame: "assumed: rdma-core providers/irdma knows push pages, which not every driver grants",
		qpRate:    none, rate: none,
		nakDelay:    "assumed: as ConnectX-6 for WRITE and SEND; disputed for READ, whose loss an E810 answers after some 83 ms (" + lumina + "), which is not modelled",
		nakReaction: "assumed: as ConnectX-6",
		nakCNP:      noNAKCNP,
		adaptive:    "the driver irdma has no such timer",
		slow:        "the driver irdma has none",
		bitmap:      "none is known",
		limiter:     lumina + ": a gap of 50 us that nothing sets, of each queue pair",
	})
	return s
}

func bcm57508() Spec {
	const none = "assumed: nothing is published"
	s := Spec{Name: "bcm57508", EthernetOnly: true, PCIeGen: 4, Port: 200 * units.Gbps, Send: 220 * units.Nanosecond, Receive: 220 * units.Nanosecond,
		Limits: true, CNPScope: congestion.PerQueuePair, CNPInterval: 4 * units.Microsecond}
	s.explain(&sources{
		pcie:      "data sheet: generation 4",
		pipeline:  "assumed: as ConnectX-6, for nothing is published",
		blueFlame: "rdma-core providers/bnxt_re rings a plain doorbell; payload of inline requests comes with the read of the request",
		qpRate:    none, rate: none, nakDelay: none, nakReaction: none, nakCNP: none,
		adaptive: none, slow: none, bitmap: none,
		limiter: "NetXtreme-E user guide, p. 110: rates rise and fall per queue pair; the interval is assumed as NVIDIA's",
	})
	return s
}

func chelsioT6() Spec {
	const none = "assumed: nothing is published"
	const iwarp = "iWARP has none: losses are TCP's"
	s := Spec{Name: "chelsio-t6", EthernetOnly: true, IWARP: true, PCIeGen: 3, Port: 100 * units.Gbps,
		Send: 475 * units.Nanosecond, Receive: 475 * units.Nanosecond}
	s.explain(&sources{
		pcie: "data sheet: generation 3",
		pipeline: "the vendor's about 1.5 us from end to end with T5 (chelsio.com, RDMA - iWARP), less 530 ns of doorbell, PCIe " +
			"and memory and the wire, halved; assumed for T6",
		blueFlame: "assumed: rdma-core providers/cxgb4 writes work requests of 64 B along with the doorbell, which is not modelled",
		qpRate:    none, rate: none, nakDelay: iwarp, nakReaction: iwarp, nakCNP: iwarp, adaptive: iwarp, slow: iwarp, bitmap: iwarp,
		limiter: iwarp,
	})
	return s
}
