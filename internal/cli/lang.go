package cli

import (
	"errors"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// langFlag is the value of --lang.
type langFlag lang.Language

// String, Set and Type make it a pflag.Value.
func (f *langFlag) String() string { return string(*f) }
func (f *langFlag) Type() string   { return "language" }
func (f *langFlag) Set(s string) error {
	if msg := lang.Check(s); msg != "" {
		return errors.New(msg)
	}
	*f = langFlag(s)
	return nil
}

// addLang adds --lang to the flags of a command that writes text or a page.
func addLang(flags *pflag.FlagSet) {
	f := langFlag(lang.English)
	flags.Var(&f, "lang", "`LANGUAGE` of the text and of pages: en or zh; JSON and CSV are English")
}

// language is what --lang of a command says; English where it has no such flag.
func language(c *cobra.Command) lang.Language {
	if f := c.Flags().Lookup("lang"); f != nil {
		if l, ok := f.Value.(*langFlag); ok {
			return lang.Language(*l)
		}
	}
	return lang.English
}
