// Package kubernetes decodes the manifest that a sweep writes as an API server does, strictly, and plays its pods: with
// the arguments, variables and files that the manifest gives them they make the rows that a sweep in one process makes.
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
)

// scenario has a text that quoting could spoil.
const scenario = `name: 'small: "one" $(SHARD) # 100 %'
description: |
  Two lines, a	tab,
  and <angles> & an umlaut ü.
topology: {star: {hosts: 4, link: 100Gbps}}
switch: {ecn: {kmin: 30KB, kmax: 90KB}}
workload:
  - incast: {from: [h0, h1, h2], to: h3, size: 200KB}
`

// decode reads the documents of a manifest, of which no field may be unknown or be there twice.
func decode(t *testing.T, data []byte) (c *corev1.ConfigMap, j *batchv1.Job) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := batchv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		o, _, err := strict.Decode(doc, nil, nil)
		if err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		switch o := o.(type) {
		case *corev1.ConfigMap:
			c = o
		case *batchv1.Job:
			j = o
		default:
			t.Fatalf("a %T", o)
		}
	}
	if _, _, err := strict.Decode(bytes.Replace(bytes.Split(data, []byte("\n---\n"))[1], []byte("completions:"), []byte("completion:"), 1), nil, nil); err == nil {
		t.Fatal("an unknown field is taken")
	}
	if c == nil || j == nil {
		t.Fatal("a document is missing")
	}
	return c, j
}

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "hopscope")
	build := exec.Command("go", "build", "-o", bin, "./cmd/hopscope")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "small.yaml"), []byte(scenario), 0o644); err != nil {
		t.Fatal(err)
	}
	hopscope := func(args ...string) string {
		t.Helper()
		c := exec.Command(bin, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	given := []string{"sweep", "small.yaml", "--set", "dcqcn.rpg_ai_rate=10Mbps", "--vary", "switch.ecn.kmin=20KB,40KB",
		"--vary", `workload[0].incast.name="$(SHARD) 'x'"`, "--vary", "switch.ecn.pmax=0.1,0.5", "--vary", "switch.ecn.kmax=100KB..300KB step 100KB",
		"--seeds", "2", "--out", "study"}
	out := hopscope(append(given, "--on", "kubernetes", "--image", "registry.example/hopscope:1", "--shards", "3")...)
	if !strings.Contains(out, "kubectl apply -f study/job.yaml") {
		t.Errorf("it says %q", out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "study", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, j := decode(t, data)
	for _, name := range []string{c.Name, j.Name} {
		if bad := validation.IsDNS1123Label(name); len(bad) > 0 {
			t.Errorf("%q: %v", name, bad)
		}
	}
	s := j.Spec
	pod := s.Template.Spec
	box := pod.Containers[0]
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion || *s.Completions != 3 || *s.Parallelism != 3 ||
		pod.RestartPolicy != corev1.RestartPolicyOnFailure || box.Image != "registry.example/hopscope:1" {
		t.Errorf("%s", data)
	}
	if f := box.Env[0].ValueFrom.FieldRef.FieldPath; f != "metadata.annotations['batch.kubernetes.io/job-completion-index']" {
		t.Errorf("the index comes from %s", f)
	}
	// Where pods see what, here.
	root := filepath.Join(dir, "pod")
	places := map[string]string{}
	for _, m := range box.VolumeMounts {
		places[m.MountPath] = filepath.Join(root, m.MountPath)
		if err := os.MkdirAll(places[m.MountPath], 0o755); err != nil {
			t.Fatal(err)
		}
		for _, v := range pod.Volumes {
			if v.Name == m.Name && v.ConfigMap != nil && v.ConfigMap.Name == c.Name {
				for name, text := range c.Data {
					if err := os.WriteFile(filepath.Join(places[m.MountPath], name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	for k := range int(*s.Completions) {
		var args []string
		for _, a := range box.Args {
			args = append(args, expand(a, map[string]string{box.Env[0].Name: strconv.Itoa(k)}))
		}
		for from, to := range places {
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], from, to)
			}
		}
		hopscope(args...)
	}
	hopscope(append(given, "--merge", filepath.Join(root, "hopscope", "sweep", "study"), "--quiet")...)
	given[len(given)-1] = "local"
	hopscope(append(given, "--quiet")...)
	a, err1 := os.ReadFile(filepath.Join(dir, "study", "rows.jsonl"))
	b, err2 := os.ReadFile(filepath.Join(dir, "local", "rows.jsonl"))
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) || bytes.Count(a, []byte("\n")) != 24 {
		t.Errorf("pods made other rows: %d and %d bytes, %v, %v", len(a), len(b), err1, err2)
	}
}

// expand is what becomes of an argument: $(X) is the value of X, $$ a dollar (Kubernetes, Define a command and arguments
// for a container).
func expand(s string, env map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], "$$") {
			b.WriteByte('$')
			i++
			continue
		}
		if rest, is := strings.CutPrefix(s[i:], "$("); is {
			if name, _, closed := strings.Cut(rest, ")"); closed {
				if v, known := env[name]; known {
					b.WriteString(v)
					i += len(name) + 2
					continue
				}
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
