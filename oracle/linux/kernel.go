//go:build linux

package linux

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// end is a network namespace with a tun device. It lasts as long as its thread.
type end struct {
	fd int
	do chan func()
}

// sysctls are the defaults of Linux 6.18, for machines that changed them.
var sysctls = [][2]string{
	{"tcp_rmem", "4096 131072 6291456"},
	{"tcp_wmem", "4096 16384 4194304"},
	{"tcp_ecn", "0"},
}

// newEnd makes a namespace whose only device has the address 10.0.0.host.
func newEnd(host byte, mtu uint32) (*end, error) {
	e := &end{do: make(chan func())}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		failed <- e.setUp(host, mtu)
		for f := range e.do {
			f()
		}
	}()
	if err := <-failed; err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *end) close() {
	close(e.do)
	if e.fd > 0 {
		unix.Close(e.fd)
	}
}

// in runs f in the namespace.
func (e *end) in(f func() error) error {
	failed := make(chan error)
	e.do <- func() { failed <- f() }
	return <-failed
}

func (e *end) setUp(host byte, mtu uint32) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	for _, s := range sysctls {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+s[0], []byte(s[1]), 0o644); err != nil {
			return err
		}
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	e.fd = fd
	// Without IFF_VNET_HDR the device has no offloads: the kernel cuts its
	// super-segments before it gives them.
	if err := ioctl(fd, unix.TUNSETIFF, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI) }); err != nil {
		return fmt.Errorf("TUNSETIFF: %w", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	for _, c := range []struct {
		request uint
		set     func(*unix.Ifreq)
	}{
		{unix.SIOCSIFTXQLEN, func(r *unix.Ifreq) { r.SetUint32(20000) }}, // the path's queue alone drops
		{unix.SIOCSIFMTU, func(r *unix.Ifreq) { r.SetUint32(mtu) }},
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) { r.SetInet4Addr([]byte{10, 0, 0, host}) }},
		{unix.SIOCSIFNETMASK, func(r *unix.Ifreq) { r.SetInet4Addr([]byte{255, 255, 255, 0}) }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING) }},
	} {
		if err := ioctl(s, c.request, c.set); err != nil {
			return fmt.Errorf("ioctl %#x: %w", c.request, err)
		}
	}
	return nil
}

// device is the name of the device in its namespace.
const device = "path0"

func ioctl(fd int, request uint, set func(*unix.Ifreq)) error {
	r, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	set(r)
	return unix.IoctlIfreq(fd, request, r)
}

// Kernel runs a path with the kernel's TCP.
func Kernel(p *Path) (*Result, error) {
	ends := [2]*end{}
	for i := range ends {
		e, err := newEnd(byte(i+1), uint32(p.mtu()))
		if err != nil {
			return nil, err
		}
		defer e.close()
		ends[i] = e
	}
	listener, err := ends[1].listen(p.CC)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	f := &forwarder{fds: [2]int{ends[0].fd, ends[1].fd}, l: [2]*link{newLink(p), newLink(p)}, start: time.Now()}
	forwarded := make(chan error, 1)
	go func() {
		if err := urgent(); err != nil {
			forwarded <- err
			return
		}
		forwarded <- f.run(p.For)
	}()
	r := &Result{}
	received := make(chan error, 1)
	go func() {
		var err error
		r.Read, err = receive(listener, f.start, p.For)
		received <- err
	}()
	r.Again, err = ends[0].send(p.CC, f.start, f.start.Add(p.For))
	if err != nil {
		return nil, fmt.Errorf("sender: %w", err)
	}
	if err := <-forwarded; err != nil {
		return nil, fmt.Errorf("forwarder: %w", err)
	}
	if err := <-received; err != nil {
		return nil, fmt.Errorf("receiver: %w", err)
	}
	if err := ends[0].in(func() (err error) { r.Notes, err = counters(); return err }); err != nil {
		return nil, err
	}
	r.Data, r.Lost, r.Dropped, r.Later = f.l[0].data, f.l[0].lost, f.l[0].dropped, f.late
	r.Acks = f.l[1].sent
	if f.given > 0 {
		r.Late = f.sum / time.Duration(f.given)
	}
	return r, nil
}

// control sets a socket's congestion control.
func control(cc string) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) (failed error) {
		err := c.Control(func(fd uintptr) { failed = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, cc) })
		if err != nil {
			return err
		}
		return failed
	}
}

func (e *end) listen(cc string) (listener net.Listener, err error) {
	err = e.in(func() (err error) {
		lc := net.ListenConfig{Control: control(cc)}
		lc.SetMultipathTCP(false)
		listener, err = lc.Listen(context.Background(), "tcp4", "10.0.0.2:80")
		return err
	})
	return listener, err
}

// send connects, and writes from one time until another. It returns how many segments were
// sent again.
func (e *end) send(cc string, from, until time.Time) (int64, error) {
	var conn net.Conn
	err := e.in(func() (err error) {
		d := net.Dialer{Control: control(cc), KeepAlive: -1, Deadline: until}
		conn, err = d.Dial("tcp4", "10.0.0.2:80")
		return err
	})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetNoDelay(false); err != nil {
		return 0, err
	}
	fd, err := descriptor(conn)
	if err != nil {
		return 0, err
	}
	if err := urgent(); err != nil {
		return 0, err
	}
	time.Sleep(time.Until(from))
	for chunk := make([]byte, 256<<10); time.Until(until) > 0; {
		if _, err := write(fd, chunk); err != nil {
			return 0, err
		}
		if err := await([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, min(time.Until(until), 10*time.Millisecond)); err != nil {
			return 0, err
		}
	}
	return retransmitted(fd)
}

// descriptor is a connection's descriptor, valid until it is closed.
func descriptor(conn net.Conn) (n int, err error) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	err = raw.Control(func(fd uintptr) { n = int(fd) })
	return n, err
}

// retransmitted is how many segments a socket has sent again.
func retransmitted(fd int) (int64, error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, err
	}
	return int64(info.Total_retrans), nil
}

// receive reads what comes, and returns how much that was at the end of each tenth
// of the time.
func receive(listener net.Listener, start time.Time, length time.Duration) ([]int64, error) {
	conn, err := listener.Accept()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	fd, err := descriptor(conn)
	if err != nil {
		return nil, err
	}
	if err := urgent(); err != nil {
		return nil, err
	}
	var list []int64
	var sum int64
	for buf := make([]byte, 256<<10); len(list) < tenths; {
		left := time.Until(start.Add(length * time.Duration(len(list)+1) / tenths))
		if left <= 0 {
			list = append(list, sum)
			continue
		}
		if err := await([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, min(left, 10*time.Millisecond)); err != nil {
			return nil, err
		}
		n, err := read(fd, buf)
		if err != nil {
			return nil, err
		}
		sum += int64(n)
	}
	return list, nil
}

// counters are what the namespace has counted of timeouts, undone cuts and ways out
// of slow start, as name=value.
func counters() (string, error) {
	b, err := os.ReadFile("/proc/thread-self/net/netstat")
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 2 {
		return "", fmt.Errorf("netstat: %q", b)
	}
	names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
	var notes []string
	for i, n := range names {
		switch n {
		case "TCPTimeouts", "TCPFullUndo", "TCPDSACKUndo", "TCPLossUndo", "TCPHystartTrainCwnd", "TCPHystartDelayCwnd", "TCPSpuriousRTOs":
			if i < len(values) && values[i] != "0" {
				notes = append(notes, strings.TrimPrefix(n, "TCP")+"="+values[i])
			}
		}
	}
	return strings.Join(notes, " "), nil
}
