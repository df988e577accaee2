package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// In a terminal a chapter waits for Enter before a command and after its output; a shows all of
// what it printed, q leaves. Ctrl-C ends it with the status of the signal, without a word, and a
// SIGTERM likewise. The terminal is as it was afterwards.
func TestTourInTerminal(t *testing.T) {
	const first, second = "$ hopscope claims 1\r\n", "$ hopscope run incast-4to1 --brief\r\n"
	for _, c := range []struct {
		name   string
		talk   []string // what is awaited, what is typed, and so on
		status int
		never  string
	}{
		{"leaves at q", []string{first + "Enter: run it", "\r", "verdict: holds", "", "Enter: go on", "\r", second + "Enter: run it", "q"}, 0, "detected "},
		{"shows all", []string{"Enter: run it", "\r", "a: all it printed", "a", "refuted if:", "", "Enter: go on", "q"}, 0, second},
		{"is interrupted", []string{"Enter: run it", "\x03"}, 130, "verdict"},
		{"input ends", []string{"Enter: run it", "\x04"}, 0, "verdict"},
		{"is terminated", []string{"Enter: run it", "SIGTERM"}, 143, "verdict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			screen, status := inTerminal(t, c.talk, "hopscope", "tour", "1")
			if status != c.status || strings.Contains(screen, c.never) || strings.Contains(screen, "hopscope: ") {
				t.Errorf("status %d, want %d, and no %q:\n%s", status, c.status, c.never, screen)
			}
		})
	}
}

// inTerminal runs a command in a pseudo-terminal of 80 columns, waits for each text and then types
// what follows it, and returns what the terminal was sent and the exit status.
func inTerminal(t *testing.T, talk []string, args ...string) (string, int) {
	t.Helper()
	ours, theirs := pseudoTerminal(t)
	before := settings(t, theirs)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: exe, Args: args, Stdin: theirs, Stdout: theirs, Stderr: theirs, Env: append(os.Environ(), "TERM=xterm", "NO_COLOR=1"),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	var screen bytes.Buffer
	seen := 0
	b := make([]byte, 1<<16)
	for i := 0; i < len(talk); i += 2 {
		for !strings.Contains(screen.String()[seen:], talk[i]) {
			if cmd.ProcessState != nil {
				break
			}
			n, err := ours.Read(b)
			screen.Write(b[:n])
			if err != nil {
				t.Fatalf("%v before %q:\n%s", err, talk[i], screen.String())
			}
		}
		seen += strings.Index(screen.String()[seen:], talk[i]) + len(talk[i])
		if talk[i+1] == "SIGTERM" {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		} else if _, err := ours.WriteString(talk[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	err = cmd.Wait()
	if after := settings(t, theirs); after != before {
		t.Errorf("the terminal is not as it was: %v, before %v", after, before)
	}
	_ = theirs.Close()
	for { // what is left, until the terminal is closed
		n, err := ours.Read(b)
		screen.Write(b[:n])
		if err != nil {
			break
		}
	}
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return screen.String(), cmd.ProcessState.ExitCode()
}

// pseudoTerminal opens both ends of a terminal (pty(7)).
func pseudoTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err) // a machine without
	}
	t.Cleanup(func() { _ = ours.Close() })
	var number, unlock uint32
	size := [4]uint16{24, 80}
	control(t, ours, syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(t, ours, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(t, ours, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// settings are how a terminal treats input and output (termios(3)).
func settings(t *testing.T, f *os.File) (s syscall.Termios) {
	t.Helper()
	control(t, f, syscall.TCGETS, unsafe.Pointer(&s))
	return s
}

func control(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); e != 0 {
		t.Fatal(e)
	}
}
