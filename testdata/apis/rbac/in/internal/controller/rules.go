// Package controller has markers for several roles.
package controller

// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=update
// +kubebuilder:rbac:groups=core,resources=secrets,resourceNames=one;two,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=*
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:urls=/metrics;/healthz,verbs=get
// +kubebuilder:rbac:groups=batch;apps,resources=jobs,verbs=create;delete;create
// +kubebuilder:rbac:groups=apps,namespace=system,resources=daemonsets,verbs=list
// +kubebuilder:rbac:groups="",namespace=system,resources=configmaps,verbs=get
// +kubebuilder:rbac:groups="",namespace=users,roleName=user-secrets,resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",namespace=system,roleName=leader,resources=leases,verbs=get;create;update

// Run is here to have something in the package.
func Run() {}
