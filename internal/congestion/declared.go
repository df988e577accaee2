package congestion

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/param"
)

// What a congestion control that is not of this package declares is looked at before any scenario may name it.

// declared reports what is wrong with a declaration, in one line without the name.
func declared(a *Algorithm) error {
	if a.New == nil {
		return fmt.Errorf("it has no settings; give New")
	}
	if a.Title == "" || a.Text == "" || a.Source == "" {
		return fmt.Errorf("it needs a title, a text and a source")
	}
	presets := a.PresetNames()
	for i, name := range presets {
		if !param.ProperName(name) {
			return fmt.Errorf("preset %q: a name has small letters, digits and hyphens, from a letter on, such as as-published",
				name)
		}
		if slices.Contains(presets[:i], name) {
			return fmt.Errorf("preset %s: there is one of that name already; give another name", name)
		}
	}
	if len(presets) == 0 {
		presets = []string{""}
	}
	for _, name := range presets {
		if err := declaredValues(a, name); err != nil {
			return err
		}
	}
	return nil
}

// declaredValues reports what is wrong with the settings that a preset begins with.
func declaredValues(a *Algorithm, preset string) error {
	if a.New(preset) == nil {
		return fmt.Errorf("it has no settings; give New")
	}
	c := a.NewControl(preset)
	all := c.Parameters()
	if err := param.CheckAll(all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(p param.Param) bool { return p.Name == "preset" }) {
		return fmt.Errorf("parameter preset: that key chooses a preset; give another name")
	}
	if key, message := c.Settings.Check(); message != "" {
		return fmt.Errorf("the values that it begins with are refused, for %s: %s", key, message)
	}
	return c.Settings.Needs().Check()
}

// Check reports needs that cannot be met.
func (n Needs) Check() error {
	switch {
	case n.Step && !n.Marks():
		return fmt.Errorf("Needs: Step asks for marks, which nothing brings back; ask for Echo or CNP, too")
	case n.INTScale < 0:
		return fmt.Errorf("Needs: INTScale is %d; give 0 or more", n.INTScale)
	case n.INTScale > 0 && !n.INT:
		return fmt.Errorf("Needs: INTScale is that of telemetry; ask for INT, too")
	}
	return nil
}

// watched is an algorithm whose functions end what runs with a param.Fault of its name when they panic.
func watched(a Algorithm) Algorithm {
	if own := a.New; own != nil {
		a.New = func(preset string) (s Settings) {
			defer func() { param.Recovered(recover(), "controller", a.Name, " in New") }()
			if s = own(preset); s == nil {
				return nil
			}
			return &watchedSettings{s, a.Name}
		}
	}
	a.foreign = true
	return a
}

type watchedSettings struct {
	of   Settings
	name string
}

func (w *watchedSettings) Parameters() []param.Param {
	defer func() { param.Recovered(recover(), "controller", w.name, " in Parameters") }()
	return w.of.Parameters()
}

func (w *watchedSettings) Check() (key, message string) {
	defer func() { param.Recovered(recover(), "controller", w.name, " in Check") }()
	return w.of.Check()
}

func (w *watchedSettings) Needs() Needs {
	defer func() { param.Recovered(recover(), "controller", w.name, " in Needs") }()
	return w.of.Needs()
}

// Start has what it starts watched by Control.Start.
func (w *watchedSettings) Start(l *Link) RateController { return w.of.Start(l) }
