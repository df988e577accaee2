//go:build linux

package linux

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forwarder carries IP packets between two tun devices over a path's two links. It
// is one thread: what a device gives is put on the link as of the moment it is
// read, and given to the other one when it is due.
type forwarder struct {
	fds   [2]int
	l     [2]*link
	out   [2][]due // packets on their way from that device, in order
	start time.Time
	spare [][]byte
	late  time.Duration // the most that a packet was given too late; and
	sum   time.Duration // of all
	given int
}

type due struct {
	at  time.Duration
	buf []byte
}

// urgent locks the calling goroutine to a thread that runs before all others of
// the machine: the forwarder and the applications need a fraction of a core, but
// at once. For the same reason their system calls go past the scheduler of
// goroutines, which would have them wait for threads without priority.
func urgent() error {
	runtime.LockOSThread()
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
}

// errno is the error of a raw system call; nil for those after which to go on.
func errno(e syscall.Errno) error {
	if e == 0 || e == unix.EAGAIN || e == unix.EINTR {
		return nil
	}
	return e
}

// read is read(2): n is 0 where there is nothing yet.
func read(fd int, b []byte) (n int, err error) {
	r, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if e != 0 {
		r = 0
	}
	return int(r), errno(e)
}

// write is write(2), likewise.
func write(fd int, b []byte) (n int, err error) {
	r, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if e != 0 {
		r = 0
	}
	return int(r), errno(e)
}

// await is ppoll(2): it returns when one of the descriptors has what is asked for,
// or after a time.
func await(fds []unix.PollFd, wait time.Duration) error {
	ts := unix.NsecToTimespec(int64(max(wait, 0)))
	_, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return errno(e)
}

// run forwards until the time has passed.
func (f *forwarder) run(until time.Duration) error {
	for {
		now := time.Since(f.start)
		if now > until {
			return nil
		}
		next, err := f.deliver(now)
		if err != nil {
			return err
		}
		polled := []unix.PollFd{{Fd: int32(f.fds[0]), Events: unix.POLLIN}, {Fd: int32(f.fds[1]), Events: unix.POLLIN}}
		if err := await(polled, min(next, until+time.Millisecond)-time.Since(f.start)); err != nil {
			return err
		}
		for i := range f.fds {
			if err := f.read(i); err != nil {
				return err
			}
		}
	}
}

// deliver gives what is due to the devices and says when the next is.
func (f *forwarder) deliver(now time.Duration) (time.Duration, error) {
	next := now + 10*time.Millisecond
	for i := range f.out {
		for len(f.out[i]) > 0 && f.out[i][0].at <= now {
			d := f.out[i][0]
			f.out[i] = f.out[i][1:]
			if _, err := write(f.fds[1-i], d.buf); err != nil {
				return 0, err
			}
			f.spare = append(f.spare, d.buf)
			f.late = max(f.late, now-d.at)
			f.sum += now - d.at
			f.given++
		}
		if len(f.out[i]) > 0 {
			next = min(next, f.out[i][0].at)
		}
	}
	return next, nil
}

// read puts all that device i gives on its link.
func (f *forwarder) read(i int) error {
	for {
		buf := f.buffer()
		n, err := read(f.fds[i], buf)
		if n == 0 || err != nil {
			f.spare = append(f.spare, buf)
			return err
		}
		data, ok := tcpData(buf[:n])
		if !ok {
			continue
		}
		if at, ok := f.l[i].send(time.Since(f.start), n, data > 0); ok {
			f.out[i] = append(f.out[i], due{at, buf[:n]})
		}
	}
}

func (f *forwarder) buffer() []byte {
	if k := len(f.spare); k > 0 {
		b := f.spare[k-1]
		f.spare = f.spare[:k-1]
		return b[:cap(b)]
	}
	return make([]byte, f.l[0].path.mtu()+14)
}

// tcpData is the length of the data in an IPv4 packet with TCP; false: it is
// another packet.
func tcpData(b []byte) (int, bool) {
	if len(b) < 40 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP {
		return 0, false
	}
	ip := int(b[0]&15) * 4
	if len(b) < ip+20 {
		return 0, false
	}
	return int(binary.BigEndian.Uint16(b[2:])) - ip - int(b[ip+12]>>4)*4, true
}
