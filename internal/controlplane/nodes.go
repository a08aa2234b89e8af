package controlplane

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/mysdk/internal/controlplane/hostpods"
)

// Annotation and value by which KWOK knows the nodes it plays.
const (
	kwokAnnotation = "kwok.x-k8s.io/node"
	kwokFake       = "fake"
)

// startNodes creates the nodes, deletes those of earlier starts with more, and
// starts what makes pods on them run.
func (s *server) startNodes(ctx context.Context) error {
	if err := s.createStorageClass(ctx); err != nil {
		return err
	}
	s.parts.Run("the volume provisioner", s.runClaims)
	s.parts.Run("the load balancers", s.runAddresses)
	s.parts.Run("the host processes", s.processes.Run)
	nodes, version := s.client.CoreV1().Nodes(), behavedAs(s.Kubernetes)
	for i := range s.Nodes {
		node := simulatedNode(i+1, version)
		err := ensure(ctx, func() error {
			if err := create(ctx, nodes, node); err != nil {
				return err
			}
			was, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
			if err == nil && was.Status.NodeInfo.KubeletVersion != version {
				patch := fmt.Appendf(nil, `{"status":{"nodeInfo":{"kubeletVersion":%q}}}`, version)
				_, err = nodes.Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
	}
	if err := ensure(ctx, func() error { return s.dropNodes(ctx) }); err != nil {
		return fmt.Errorf("delete nodes of earlier starts: %w", err)
	}
	s.tracker.stage("nodes")
	return s.startKWOK(ctx)
}

// dropNodes deletes the simulated nodes that are too many. Their pods go a minute
// later, as on any cluster.
func (s *server) dropNodes(ctx context.Context) error {
	nodes := s.client.CoreV1().Nodes()
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range list.Items {
		number, ours := strings.CutPrefix(node.Name, hostpods.NodePrefix)
		if n, err := strconv.Atoi(number); !ours || err != nil || n <= s.Nodes || node.Annotations[kwokAnnotation] != kwokFake {
			continue
		}
		if err := nodes.Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil && !errors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// hostpods.NodePrefix is what the numbers of simulated nodes follow in their names.
// simulatedNode is a node with room for everything that is Ready from the
// start.
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
