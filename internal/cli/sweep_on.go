package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hopscope/hopscope/internal/campaign"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Values of --on.
const (
	onSlurm      = "slurm"
	onKubernetes = "kubernetes"
)

// volumeName is what Kubernetes takes as the name of a claim: a DNS-1123 subdomain.
var volumeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

const maxVolumeName = 253

// checkOn looks at the flags about other machines.
func (f *sweepFlags) checkOn(c *cobra.Command) error {
	only := func(flag, on string) error {
		if c.Flags().Changed(flag) && f.on != on {
			return fmt.Errorf("--%s is about --on %s; give that too, or leave it out", flag, on)
		}
		return nil
	}
	switch {
	case f.on != "" && f.on != onSlurm && f.on != onKubernetes:
		return fmt.Errorf("--on %s: %s", f.on, oneOf(f.on, []string{onSlurm, onKubernetes}))
	case c.Flags().Changed("on") && f.on == "":
		return errors.New("--on: the name is empty; give slurm or kubernetes")
	case f.on != "" && f.shard != "":
		return errors.New("--on has all shards made, and --shard makes one; leave one of them out")
	case c.Flags().Changed("shards") && f.on == "":
		return errors.New("--shards is about --on slurm or kubernetes; give that too, or --shard K/N")
	case c.Flags().Changed("shards") && (f.shards < 1 || f.shards > mostShards):
		return fmt.Errorf("--shards %d: give 1 to %d", f.shards, mostShards)
	case f.on == onKubernetes && f.image == "":
		return errors.New("--on kubernetes needs --image, a container image whose entry point is hopscope")
	case f.on == onKubernetes && (strings.ContainsFunc(f.image, unicode.IsSpace) || strings.HasPrefix(f.image, "-")):
		return fmt.Errorf("--image %q: the name of an image has no spaces; give one such as registry/hopscope:1", f.image)
	case f.on == onKubernetes && (!volumeName.MatchString(f.claim) || len(f.claim) > maxVolumeName):
		return fmt.Errorf("--claim %q: Kubernetes takes lower-case letters, digits, - and . between them, %d characters "+
			"at most",
			f.claim, maxVolumeName)
	}
	if err := cmp.Or(only("sbatch", onSlurm), only("image", onKubernetes), only("claim", onKubernetes)); err != nil {
		return err
	}
	if f.on == onSlurm {
		return campaign.FindSlurm()
	}
	return nil
}

// Shards of --on unless --shards says how many.
const (
	shardTime     = time.Minute // that each takes at least
	defaultShards = 100         // at most
)

// shardsOf is how many shards there are to be.
func (s *sweeping) shardsOf(missing []int, e *campaign.Estimate) int {
	if s.f.shards > 0 {
		return min(s.f.shards, s.Runs())
	}
	return int(max(1, min(int64(e.Time(len(missing), 1)/shardTime)+1, defaultShards, int64(len(missing)))))
}

// slurm has the missing runs made by a job array.
func (s *sweeping) slurm(ctx context.Context, store *campaign.Store, shards int, shown func(int, string)) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	scenario, given := s.c.Flags().Args(), s.given("set", "vary")
	if len(scenario) == 1 && scenario[0] == "-" { // what is set stands in it
		scenario, given = []string{filepath.Join(s.dir, campaign.ScenarioFile)}, s.given("vary")
	}
	command := slices.Concat([]string{program, "sweep"}, scenario, given, []string{"--out", s.dir, "--quiet"})
	job := &campaign.Slurm{Shards: shards, Options: strings.Fields(s.f.sbatch), Command: command,
		Shown: func(made int, tasks string) { shown(made, "; job "+store.Job()+": "+tasks) }}
	err = job.Run(ctx, store)
	if ctx.Err() != nil && store.Job() != "" {
		s.meter.clear()
		fmt.Fprintf(s.c.ErrOrStderr(), "hopscope: Slurm job %s goes on; the same command waits for it, scancel "+
			"%[1]s ends it\n",
			store.Job())
	}
	return err
}

// kubernetes writes a manifest and says what to do with it.
func (s *sweeping) kubernetes(store *campaign.Store, shards int) error {
	job := &campaign.Kubernetes{Shards: shards, Image: s.f.image, Claim: s.f.claim, Args: s.given("vary")}
	path, name, err := job.Write(store)
	if err != nil {
		return err
	}
	if !s.f.quiet {
		fmt.Fprintf(s.c.OutOrStdout(), "%s: the Indexed Job %s of %s. Next: kubectl apply -f %[1]s; when it is complete, "+
			"copy the directory from the volume of claim %[4]s and give this command with --merge and its name "+
			"in place of --on.\n",
			path, name, many(shards, "shard", "s"), s.f.claim)
	}
	return nil
}

// given are the flags that say what is swept, and those of lists named, as arguments.
func (s *sweeping) given(lists ...string) (args []string) {
	flags := s.c.Flags()
	for _, name := range append(lists, "seeds", "seed", "sample") {
		f := flags.Lookup(name)
		if !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+name, v)
		}
	}
	if len(s.Stacks) > 0 && !slices.ContainsFunc(s.f.vary, func(v string) bool { return strings.HasPrefix(v, "stack=") }) {
		args = append(args, "--stacks", strings.Join(s.Stacks, ","))
	}
	if slices.Contains(lists, "set") {
		files := s.f.input.given()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			args = append(args, "--"+name, files[name])
		}
	}
	return args
}
