package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrClaimed says that another program writes to a directory.
var ErrClaimed = errors.New("another program is writing to it")

// Claim is a directory that one program at a time writes to.
type Claim struct {
	dir  string
	lock *os.File // the open directory; nil where it cannot be locked
	made []string // directories that did not exist before, the outermost first
}

// ClaimDir makes dir if need be and claims it; ErrClaimed: another program has it.
func ClaimDir(dir string) (*Claim, error) {
	c := &Claim{dir: dir}
	if err := c.mkdirAll(filepath.Clean(dir)); err != nil {
		c.Release()
		return nil, Reason(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		c.Release()
		return nil, Reason(err)
	}
	c.lock = f
	if heldByAnother(f) {
		c.Release()
		return nil, ErrClaimed
	}
	return c, nil
}

// mkdirAll is os.MkdirAll and notes what it made.
func (c *Claim) mkdirAll(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := c.mkdirAll(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o755)
	}
	if err == nil {
		c.made = append(c.made, dir)
		return nil
	}
	if info, e := os.Stat(dir); e == nil && info.IsDir() {
		return nil
	}
	return err
}

// Release gives the directory up and removes those that ClaimDir made, if they are empty.
func (c *Claim) Release() {
	for i := len(c.made) - 1; i >= 0; i-- {
		if os.Remove(c.made[i]) != nil { // not empty
			break
		}
	}
	if c.lock != nil {
		_ = c.lock.Close()
	}
}
