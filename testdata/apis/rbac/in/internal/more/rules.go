package more

// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy,resources=evictions,verbs=create,roleName=evictor
type marked struct{}
