package cli

import (
	"errors"
	"io"

	"github.com/hopscope/hopscope/internal/figure"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pictures are the outputs to look at.
type pictures struct{ html, svg string }

func (p *pictures) flags(flags *pflag.FlagSet, what string) {
	flags.StringVar(&p.html, "html", "", "write "+what+" as one page with drawings to `FILE`, which needs no network "+
		"(-: to standard output, instead of the report)")
	flags.StringVar(&p.svg, "svg", "", "write the drawings of the page to `DIR`, an SVG file each")
}

// wanted reports whether there is anything to draw.
func (p *pictures) wanted() bool { return p.html != "" || p.svg != "" }

// check refuses what could not be written.
func (p *pictures) check() error {
	if err := checkFile("--html", p.html); err != nil {
		return err
	}
	return checkDir("--svg", p.svg)
}

// checkBeside is check of a command whose only other output is JSON.
func (p *pictures) checkBeside(json string) error {
	single := []output{{flag: "--json", path: json}, {flag: "--html", path: p.html}}
	if err := checkApart(single, output{"--svg", p.svg, []string{"*.svg"}}); err != nil {
		return err
	}
	return p.check()
}

// pageMeta is what a page says of a scenario that several runs share.
func pageMeta(base run.Options) page.Meta {
	meta := page.Meta{Program: "hopscope " + version()}
	if v, err := run.Load(base); err == nil {
		meta.Scenario = v.Source
	}
	return meta
}

// write writes a page and its drawings.
func (p *pictures) write(c *cobra.Command, made *page.Page) error {
	var errs []error
	if p.html != "" {
		errs = append(errs, putTo(c, p.html, func(w io.Writer) error { return made.Write(w) }))
	}
	if p.svg != "" {
		errs = append(errs, putDrawings(p.svg, made.Drawings))
	}
	return errors.Join(errs...)
}

// putDrawings writes a file each.
func putDrawings(dir string, list []*figure.Figure) error {
	set, err := files.NewSetIn(dir)
	if err != nil {
		return err
	}
	defer set.Discard()
	for _, f := range list {
		if err := set.Put(f.Name+".svg", f.File()); err != nil {
			return err
		}
	}
	return set.Commit()
}
