package scorecard

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/registry"
)

const (
	testContainer   = "scorecard-test"   // what runs the test
	gatherContainer = "scorecard-gather" // what its files are fetched from
	logLines        = 200                // of a pod that gave no result

	// configMapBytes keeps a ConfigMap well below the API server's 1 MiB.
	configMapBytes = 700 << 10
	pollInterval   = 200 * time.Millisecond
	cleanupTime    = 30 * time.Second
	sidecarTime    = 1000 * time.Second // beyond the time for the tests, for a look at pods that are kept
)

// Pods runs tests that have an image of their own, as pods of a cluster that
// runs containers.
type Pods struct {
	Client         *kube.Client
	Run            string // a name for this run, part of all names
	Namespace      string
	ServiceAccount string
	Restricted     bool          // give the pods the security context that PodSecurity restricted asks for
	StorageImage   string        // sidecar that keeps a test's files, with a shell and tar
	KeepPods       bool          // leave pods and ConfigMaps behind
	Wait           time.Duration // for all tests: so long a sidecar has to be there
	// Exec runs a command in a container and returns what it printed.
	Exec func(ctx context.Context, namespace, pod, container string, command []string) ([]byte, error)
	// Keep is given the files that a test stored: path → content.
	Keep func(ctx context.Context, test string, files map[string][]byte) error

	sources []any // of the volume with the bundle; nil before Start
}

// Start brings the bundle's files to the cluster; Stop takes them away.
func (p *Pods) Start(ctx context.Context, files map[string][]byte) error {
	maps, sources, err := p.configMaps(files)
	if err != nil {
		return err
	}
	p.sources = sources
	_, err = p.Client.Apply(ctx, maps, p.apply())
	return err
}

// Stop deletes what Start and the tests made, also when ctx has ended.
func (p *Pods) Stop(ctx context.Context) error {
	if p.KeepPods || p.sources == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	var errs []error
	for _, kind := range []string{"Pod", "ConfigMap"} {
		mine := kube.ListOptions{Namespace: p.Namespace, Selector: "testrun=" + p.Run}
		found, err := p.Client.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: kind}, mine)
		if err == nil {
			_, err = p.Client.Delete(ctx, found, kube.DeleteOptions{})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (p *Pods) apply() kube.ApplyOptions {
	return kube.ApplyOptions{FieldManager: fieldManager, Namespace: p.Namespace}
}

// configMaps holds the bundle's files. A key has no slashes, so each is a
// number, and sources, which are the volume's of a pod, give it its path.
func (p *Pods) configMaps(files map[string][]byte) (list []*unstructured.Unstructured, sources []any, err error) {
	sources = []any{}
	var source map[string]any // of the last ConfigMap
	size := 0
	for i, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		if len(data) > configMapBytes {
			return nil, nil, fmt.Errorf("bring the bundle to the cluster: %s has %d bytes, and a ConfigMap takes %d", name, len(data), configMapBytes)
		}
		if len(list) == 0 || size+len(data) > configMapBytes {
			u := kube.Named("v1", "ConfigMap", p.Namespace, fmt.Sprintf("%s-%d", p.Run, len(list)))
			u.Object["binaryData"] = map[string]any{}
			u.SetLabels(map[string]string{"app": "scorecard-test", "testrun": p.Run})
			list = append(list, u)
			source = map[string]any{"name": u.GetName(), "items": []any{}}
			sources = append(sources, map[string]any{"configMap": source})
			size = 0
		}
		size += len(data)
		key := fmt.Sprintf("file-%03d", i)
		list[len(list)-1].Object["binaryData"].(map[string]any)[key] = base64.StdEncoding.EncodeToString(data)
		source["items"] = append(source["items"].([]any), map[string]any{"key": key, "path": name})
	}
	return list, sources, nil
}

// run runs one test as a pod, and reads its result from the pod's log.
func (p *Pods) run(ctx context.Context, s Subject, t v1alpha3.TestConfiguration) v1alpha3.TestStatus {
	pod, err := p.pod(s, t)
	if err != nil {
		return failedToRun(t, err, "", "")
	}
	if _, err := p.Client.Apply(ctx, []*unstructured.Unstructured{pod}, p.apply()); err != nil {
		return failedToRun(t, err, "", "")
	}
	if err := p.wait(ctx, pod, t.Storage.Spec.MountPath.Path != ""); err != nil {
		return failedToRun(t, err, p.log(ctx, pod), "keep the pods with --skip-cleanup and 'kubectl describe pod "+pod.GetName()+"'")
	}
	if t.Storage.Spec.MountPath.Path != "" {
		if err := p.gather(ctx, t, pod); err != nil {
			return failedToRun(t, err, p.log(ctx, pod), "")
		}
	}
	out, err := p.Client.Logs(ctx, p.Namespace, pod.GetName(), kube.LogOptions{Container: testContainer})
	if err != nil {
		return failedToRun(t, err, "", "")
	}
	var status v1alpha3.TestStatus
	if err := json.Unmarshal(out, &status); err != nil || len(status.Results) == 0 {
		return failedToRun(t, errors.New("its log is not a test result"), string(out), "a test must print one JSON object with its results, and nothing else")
	}
	return status
}

// wait returns when the test's container has ended, or cannot begin. With
// storage the container beside it has to run, which may be later.
func (p *Pods) wait(ctx context.Context, pod *unstructured.Unstructured, storage bool) error {
	state := "not seen yet"
	for {
		live, err := p.Client.Read(ctx, pod)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("pod %s: %w; %s", pod.GetName(), context.Cause(ctx), state)
		case err != nil:
			return err
		case live == nil:
			return fmt.Errorf("pod %s was deleted", pod.GetName())
		}
		var typed corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &typed); err != nil {
			return fmt.Errorf("read pod %s: %w", pod.GetName(), err)
		}
		var ended, stuck bool
		ended, stuck, state = podState(typed.Status)
		if ended && (!storage || runs(typed.Status, gatherContainer)) {
			return nil
		}
		if stuck {
			return fmt.Errorf("pod %s: %s", pod.GetName(), state)
		}
		host.Pause(ctx, pollInterval)
	}
}

// podState says in words how far a pod is. stuck is one that will not begin
// however long one waits.
func podState(pod corev1.PodStatus) (ended, stuck bool, state string) {
	state = "phase " + string(pod.Phase) // absent at first
	for _, c := range pod.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			state += ", not scheduled: " + c.Message
		}
	}
	if pod.Phase == corev1.PodFailed && len(pod.ContainerStatuses) == 0 { // the kubelet rejected or evicted it
		state, stuck = strings.TrimRight(fmt.Sprintf("%s, %s: %s", state, pod.Reason, pod.Message), ", :"), true
	}
	for _, c := range slices.Concat(pod.InitContainerStatuses, pod.ContainerStatuses) {
		if c.State.Terminated != nil {
			ended = ended || c.Name == testContainer
			if c.Name == gatherContainer { // nothing can be copied through it any more
				state, stuck = state+", container "+gatherContainer+" ended", true
			}
		}
		if w := c.State.Waiting; w != nil {
			state += strings.TrimRight(fmt.Sprintf(", container %s waits: %s %s", c.Name, w.Reason, w.Message), " ")
			stuck = stuck || hopeless(w.Reason)
		}
	}
	return ended, stuck, state
}

func runs(pod corev1.PodStatus, name string) bool {
	return slices.ContainsFunc(pod.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == name && c.State.Running != nil
	})
}

// hopeless are the reasons of a waiting container that only a change of the pod
// or of the registry ends. ErrImagePull is not among them: it is tried again.
func hopeless(reason string) bool {
	return slices.Contains([]string{"ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "CrashLoopBackOff", "RunContainerError", "ErrImageNeverPull"}, reason)
}

// log is what the test has printed so far, for a result that is not one. The
// time for the tests may be over, and the log is still wanted.
func (p *Pods) log(ctx context.Context, pod *unstructured.Unstructured) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	out, err := p.Client.Logs(ctx, p.Namespace, pod.GetName(), kube.LogOptions{Container: testContainer, Tail: logLines})
	if err != nil {
		return "no log: " + err.Error()
	}
	return string(out)
}

// gather fetches the files that the test stored, through the sidecar.
func (p *Pods) gather(ctx context.Context, t v1alpha3.TestConfiguration, pod *unstructured.Unstructured) error {
	mount := t.Storage.Spec.MountPath.Path
	out, err := p.Exec(ctx, p.Namespace, pod.GetName(), gatherContainer, []string{"tar", "cf", "-", "-C", mount, "."})
	if err != nil {
		return fmt.Errorf("fetch the files of %s from %s: %w", Name(t), mount, err)
	}
	files, err := registry.Files(bytes.NewReader(out), nil, registry.FilesLimit)
	if err != nil {
		return fmt.Errorf("read the files of %s: %w", Name(t), err)
	}
	return p.Keep(ctx, path.Join(dirName(t.Labels["suite"]), cmp.Or(dirName(Name(t)), "test")), files)
}

// dirName makes of any text, which here comes from the bundle, the name of one
// directory, and never of one above. What has no letter or digit gives "".
func dirName(text string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, text)
	return strings.Trim(clean, ".-")
}

//go:embed pod.yaml.tmpl
var podText string

func (p *Pods) pod(s Subject, t v1alpha3.TestConfiguration) (*unstructured.Unstructured, error) {
	tops := map[string]bool{}
	for name := range s.Files {
		top, _, _ := strings.Cut(name, "/")
		tops[top] = true
	}
	list, err := kube.RenderManifests(podText, "pod.yaml", map[string]any{
		"Name": p.Run + "-" + podName(t), "Pods": p, "Test": t, "Tops": slices.Sorted(maps.Keys(tops)), "Sources": p.sources,
		"Storage": t.Storage.Spec.MountPath.Path, "Seconds": int((p.Wait + sidecarTime).Seconds()),
	})
	if err != nil {
		return nil, fmt.Errorf("make the pod of %s: %w", Name(t), err)
	}
	return list[0], nil
}

// podName is the test's name and the digits that keep two of one name apart.
func podName(t v1alpha3.TestConfiguration) string {
	sum := fnv.New32a()
	for _, word := range append([]string{t.Image, t.UniqueID, t.Labels["test"]}, t.Entrypoint...) {
		sum.Write([]byte(word + "\x00")) // a hash's Write never fails
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, Name(t))
	return strings.Trim(clean[:min(len(clean), 30)], "-") + fmt.Sprintf("-%08x", sum.Sum32())
}
