package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/sweep"
)

// Kubernetes is how shards run in a cluster: as an Indexed Job, whose pods share a volume.
type Kubernetes struct {
	Shards int
	Image  string // that holds the program as its entry point
	Claim  string // a PersistentVolumeClaim that all pods may write to
	// Args are the program's arguments behind the scenario's name, without --out and --shard.
	Args []string
}

// KubernetesFile is the manifest.
const KubernetesFile = "job.yaml"

// Where pods find things.
const (
	podScenario = "/hopscope/scenario/" + ScenarioFile
	podVolume   = "/hopscope/sweep"
	// mostConfig bounds a ConfigMap: Kubernetes takes 1 MiB of data.
	mostConfig = 1 << 20
)

// Write writes the manifest into the directory of the sweep and returns its path and the name of the job.
func (k *Kubernetes) Write(s *Store) (path, name string, err error) {
	if len(s.c.Source) > mostConfig-4096 {
		return "", "", fmt.Errorf("--on kubernetes: the scenario with the files that it reads has %d bytes, and "+
			"a ConfigMap takes %d; "+
			"put it into the image and run shards with --shard", len(s.c.Source), mostConfig)
	}
	name = s.c.podName()
	path = filepath.Join(s.dir, KubernetesFile)
	return path, name, files.Put(path, k.manifest(name, s.c.Source, filepath.Base(s.dir)))
}

// podName is a name that Kubernetes takes (RFC 1123), and that is another one for another sweep.
func (c *Campaign) podName() string {
	word := strings.Trim(strings.ToLower(fileWord(c.Scenario)), "-")
	if len(word) > 30 {
		word = strings.TrimRight(word[:30], "-")
	}
	var b bytes.Buffer
	c.Describe(&b)
	fmt.Fprintln(&b, c.Seeds, c.Samples, c.Identity)
	return strings.Trim("hopscope-"+word, "-") + "-" + sweep.Hash(b.Bytes())[:8]
}

// manifest is a ConfigMap with the scenario and a Job.
func (k *Kubernetes) manifest(name string, scenario []byte, dir string) []byte {
	args := append([]string{"sweep", podScenario}, k.Args...)
	args = append(args, "--out", podVolume+"/"+dir)
	for i, a := range args { // $(X) is a variable's value there, and $$ a dollar
		args[i] = strings.ReplaceAll(a, "$", "$$")
	}
	args = append(args, "--workers", "1", "--quiet", "--shard", fmt.Sprintf("$(SHARD)/%d", k.Shards))
	var list strings.Builder
	for _, a := range args {
		fmt.Fprintf(&list, "\n        - %s", yamlText(a))
	}
	return []byte(fmt.Sprintf(`# kubectl apply -f this file; then kubectl wait --for=condition=complete job/%[1]s
apiVersion: v1
kind: ConfigMap
metadata:
  name: %[1]s
data:
  %[2]s: %[3]s
---
apiVersion: batch/v1
kind: Job
metadata:
  name: %[1]s
spec:
  completionMode: Indexed
  completions: %[4]d
  parallelism: %[4]d
  backoffLimit: %[5]d
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: hopscope
        image: %[6]s
        args:%[7]s
        env:
        - name: SHARD
          valueFrom:
            fieldRef:
              fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
        resources:
          requests:
            cpu: "1"
        volumeMounts:
        - name: scenario
          mountPath: /hopscope/scenario
          readOnly: true
        - name: sweep
          mountPath: %[8]s
      volumes:
      - name: scenario
        configMap:
          name: %[1]s
      - name: sweep
        persistentVolumeClaim:
          claimName: %[9]s
`, name, ScenarioFile, yamlText(string(scenario)), k.Shards, 2*k.Shards, yamlText(k.Image), list.String(), podVolume,
		yamlText(k.Claim)))
}

// yamlText is a text in quotes; those of JSON are YAML's too.
func yamlText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be encoded
	return strings.TrimSpace(b.String())
}
