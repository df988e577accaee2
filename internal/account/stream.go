package account

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Stream completes the record of message i, of TCP.
func (a *Book) Stream(f *record.Message, i int) {
	f.Service, f.DeliveredPS = catalog.TCP, -1
	done, status := a.StreamFate(i)
	f.Status = status
	if done == units.Never {
		a.Open(f, i)
		return
	}
	if a.Messages[i].Posted == units.Never {
		f.StartPS, f.CompletionPS = done, 0
		return
	}
	f.CompletionPS = done - f.StartPS
	if status == "success" {
		f.DeliveredPS = f.CompletionPS
	}
	a.check(f, i, a.stream(i, done, status))
}

// streamNames are the stages of a TCP connection's time.
func streamNames() [nic.NumStages]catalog.Stage {
	names := stageNames
	names[nic.Handshake], names[nic.SendBuffer], names[nic.Window] = catalog.StageHandshake, catalog.StageSendBuffer, catalog.StageCwnd
	names[nic.Kernel] = catalog.StageKernel
	names[nic.Detection], names[nic.Timeout] = catalog.StageDetection, catalog.StageTimeout
	names[nic.ReceiveWindow], names[nic.Nagle], names[nic.Rate] = catalog.StageReceiveWindow, catalog.StageNagle, catalog.StagePacing
	return names
}

// offloadNames are the stages of a queue pair's time that TCP carries: those of a connection, and those of verbs.
func offloadNames() [nic.NumStages]catalog.Stage {
	names := streamNames()
	names[nic.Fenced], names[nic.Reads] = catalog.StageFence, catalog.StageReads
	names[nic.SendBuffer], names[nic.PeerWindow] = catalog.StageCardBuffer, catalog.StageReceiveWindow
	names[nic.HostKernel] = catalog.StageKernel
	return names
}

// stream returns where the time of message i, of TCP, went, which ended at done:
// the connection's time up to the first transmission of its last byte; then that
// segment's way, or the wait for the one sent again that completed the message,
// and its way; then the receiving application, and its copy into a GPU.
func (a *Book) stream(i int, done units.Time, status string) record.Account {
	defer a.asStream()()
	m, port := a.openingStream(i)
	if status != "success" {
		a.times(&m.Before, port)
		a.missing(i, done)
		return a.out
	}
	_, reader := a.StreamEnds(i)
	a.arrived(i, port, &reader.Arrivals[m.Ordinal], done)
	return a.out
}

// asStream has stages go by the names that those of a TCP connection have, until what it returns is called.
func (a *Book) asStream() (done func()) {
	a.names, a.loss, a.reordered = streamNames(), catalog.StageDetection, catalog.StageReassembly
	a.segments, a.kernel = true, false
	return func() {
		a.names, a.loss, a.reordered, a.segments = stageNames, catalog.StageLoss, catalog.StageReordered, false
	}
}

// openingStream begins the account of message i, of TCP, with the time until its connection came to it.
func (a *Book) openingStream(i int) (m *nic.MessageAccount, port *port) {
	m = a.note(i)
	src := a.Requester(i)
	a.out, a.at = a.out[:0], a.Messages[i].Due
	a.until(catalog.StageCPU, &a.nodes[src], m.Posted)
	a.until(catalog.StageEarlierWork, nil, m.After)
	return m, &a.ports[a.Hosts[src].GlobalPort(a.Messages[i].QP)]
}

// arrived books the time of message i, of TCP, from when its connection came to it until done, where its last
// segment has arrived.
func (a *Book) arrived(i int, port *port, arrival *nic.Arrival, done units.Time) {
	of := a.Valid.Plan.At(i)
	_, to := a.Valid.Plan.Ends(&of)
	dst := a.Valid.Graph.HostOf(to)
	a.decisive(i, port, a.wayOf(a.Hosts[dst], arrival.Way), arrival.Came)
	a.until(catalog.StagePlace, nil, arrival.Landed)
	a.until(catalog.StageSoftirq, &a.nodes[dst], arrival.At)
	a.until(catalog.StageUnread, &a.nodes[dst], arrival.Read)
	a.until(catalog.StageCopyIn, &a.nodes[dst], done)
}

// check panics unless the stages of message i add up, and leaves them to be made again
// by who asks for them.
func (a *Book) check(f *record.Message, i int, account record.Account) {
	if account.Total() != f.Life() {
		panic(fmt.Sprintf("account: BUG: message %d (%s to %s): stages add up to %d ps, not %d: %v",
			i, f.Src, f.Dst, account.Total(), f.Life(), account))
	}
	if len(account) > 0 {
		f.Account = record.Defer(a, i)
	}
}

// Fork implements record.Accounts. What is known of all messages, and does not change any
// more, both share.
func (a *Book) Fork() record.Accounts { return a.fork() }

func (a *Book) fork() *Book {
	b := *a
	b.out, b.hops, b.message = nil, nil, 0
	return &b
}

// Account implements record.Accounts.
func (a *Book) Account(i int, to record.Account) record.Account {
	if a.isOpen(i) {
		return append(to, a.open(i)...)
	}
	if !a.Is(a.conn(i), catalog.Streams) {
		return append(to, a.account(i)...)
	}
	done, status := a.StreamFate(i)
	return append(to, a.stream(i, done, status)...)
}
