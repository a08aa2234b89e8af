package controlplane

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/mysdk/internal/controlplane/hostpods"
)

// Annotation and value by which KWOK knows the nodes it plays.
const (
	kwokAnnotation = "kwok.x-k8s.io/node"
	kwokFake       = "fake"
)

// startNodes makes the nodes, and starts what makes pods on them run.
func (s *server) startNodes(ctx context.Context) error {
	if err := s.createStorageClass(ctx); err != nil {
		return err
	}
	s.parts.Run("the volume provisioner", s.runClaims)
	s.parts.Run("the load balancers", s.runAddresses)
	s.parts.Run("the host processes", s.processes.Run)
	if err := s.makeNodes(ctx); err != nil {
		return err
	}
	s.tracker.stage("nodes")
	return s.startKWOK(ctx)
}

func (s *server) makeNodes(ctx context.Context) error {
	nodes, version := s.client.CoreV1().Nodes(), behavedAs(s.Kubernetes)
	for i := range s.Nodes {
		node := simulatedNode(i+1, version)
		if err := ensure(ctx, func() error { return create(ctx, nodes, node) }); err != nil {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, adjustTime)
	defer cancel()
	if err := ensure(limited, func() error { return s.adjustNodes(limited, version) }); err != nil {
		s.log.Printf("going on with nodes as an earlier start left them: %v", err) // the user's admission may refuse it
	}
	return nil
}

// adjustTime is how long it is tried to change the nodes of earlier starts.
const adjustTime = 5 * time.Second

// adjustNodes gives the simulated nodes their version, and deletes those that are too
// many. Their pods go a minute later, as on any cluster.
func (s *server) adjustNodes(ctx context.Context, version string) error {
	nodes := s.client.CoreV1().Nodes()
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var failed []error
	for _, node := range list.Items {
		number, ours := strings.CutPrefix(node.Name, hostpods.NodePrefix)
		n, err := strconv.Atoi(number)
		switch {
		case !ours || err != nil || node.Annotations[kwokAnnotation] != kwokFake:
		case n > s.Nodes:
			if err := nodes.Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				failed = append(failed, fmt.Errorf("delete node %s: %w", node.Name, err))
			}
		case node.Status.NodeInfo.KubeletVersion != version:
			patch := fmt.Appendf(nil, `{"status":{"nodeInfo":{"kubeletVersion":%q}}}`, version)
			if _, err := nodes.Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				failed = append(failed, fmt.Errorf("set the version of node %s: %w", node.Name, err))
			}
		}
	}
	return errors.Join(failed...)
}

// simulatedNode is a node with room for everything that is Ready from the start.
func simulatedNode(n int, version string) *corev1.Node {
	name := hostpods.NodePrefix + strconv.Itoa(n)
	room := hostpods.NodeRoom()
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{kwokAnnotation: kwokFake},
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
				"node-role.kubernetes.io/worker": "", "type": "kwok",
			},
		},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("%s.%d", hostpods.NodeNetwork, n)},
				{Type: corev1.NodeHostName, Address: name},
			},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				Message: "simulated by KWOK", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: version, OperatingSystem: "linux", Architecture: runtime.GOARCH,
				ContainerRuntimeVersion: "kwok://simulated",
			},
		},
	}
}
