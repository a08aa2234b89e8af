package controlplane

import (
	"context"
	"fmt"
	"runtime"

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

// startNodes creates the nodes and starts what makes pods on them run.
func (s *server) startNodes(ctx context.Context) error {
	if err := s.createStorageClass(ctx); err != nil {
		return err
	}
	s.parts.Run("the volume provisioner", s.runClaims)
	s.parts.Run("the load balancers", s.runAddresses)
	s.parts.Run("the host processes", s.processes.Run)
	for i := range s.Nodes {
		node := simulatedNode(i+1, s.now.Kubernetes)
		err := ensure(ctx, func() error {
			err := create(ctx, s.client.CoreV1().Nodes().Create, node)
			if errors.IsAlreadyExists(err) { // of a start with another version, it may be
				patch := fmt.Appendf(nil, `{"status":{"nodeInfo":{"kubeletVersion":%q}}}`, s.now.Kubernetes)
				_, err = s.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
	}
	s.tracker.stage("nodes")
	return s.startKWOK(ctx)
}

// simulatedNode is a node with room for everything that is Ready from the
// start.
func simulatedNode(n int, version string) *corev1.Node {
	name := fmt.Sprintf("node-%d", n)
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
