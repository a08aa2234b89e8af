package cmd

// mutant is a fault of one thought in the scaffolded controller.
type mutant struct {
	name     string
	old, new string // in the controller's source
}

const (
	mutantDeployment = "\twanted, err := r.deployment(cr)\n"
	mutantApply      = "\tdeployment, applyErr := r.apply(ctx, cr)\n"
	mutantRights     = "// +kubebuilder:rbac:groups=core,resources=pods,verbs=get;list;watch\n"
)

// mutants are faults that operators have: most of them are known from the issue
// threads of public ones.
var mutants = []mutant{
	{"size not applied", "WithReplicas(cr.Spec.Size)", "WithReplicas(3)"},
	{"size rounded up", "WithReplicas(cr.Spec.Size)", "WithReplicas(cr.Spec.Size + cr.Spec.Size/4)"},
	{"created and never updated", mutantDeployment, "\tif !missing {\n\t\treturn seen, nil\n\t}\n" + mutantDeployment},
	{"never scaled down", mutantDeployment, "\tif cr = cr.DeepCopy(); seen.Spec.Replicas != nil {\n\t\tcr.Spec.Size = max(cr.Spec.Size, *seen.Spec.Replicas)\n\t}\n" + mutantDeployment},
	{"finalizer not removed", "controllerutil.RemoveFinalizer(cr, memcachedFinalizer)", "_ = controllerutil.RemoveFinalizer"},
	{"finalizer of another name", "if !controllerutil.ContainsFinalizer(cr, memcachedFinalizer) {", "if !controllerutil.ContainsFinalizer(cr, \"example.com/old\") {"},
	{"deletion not seen", "if !cr.DeletionTimestamp.IsZero() {", "if false {"},
	{"owner is no controller", "WithController(true)", "WithController(false)"},
	{"no owner", mutantDeployment, mutantDeployment + "\tif wanted != nil {\n\t\twanted.OwnerReferences = nil\n\t}\n"},
	{"owner of another UID", "WithUID(cr.UID)", "WithUID(\"0\")"},
	{"owner of another kind", "WithKind(gvk.Kind)", "WithKind(\"Memcache\")"},
	{"pods roll for ever", `"app.kubernetes.io/managed-by": "shop"`, `"app.kubernetes.io/managed-by": fmt.Sprint("at", time.Now().UnixNano())`},
	{"requeued at once", "\treturn ctrl.Result{}, applyErr\n", "\treturn ctrl.Result{RequeueAfter: time.Millisecond}, applyErr\n"},
	{"no right to patch", "resources=deployments,verbs=get;list;watch;create;patch", "resources=deployments,verbs=get;list;watch;create"},
	{"no right to the status", "resources=memcacheds/status,verbs=patch", "resources=memcacheds/status,verbs=get"},
	{"no right to events", "resources=events,verbs=create;patch", "resources=events,verbs=get"},
	{"panics at a size", "\tsize, has := cr.Spec.Size, deployment.Status\n", "\tsize, has := cr.Spec.Size, deployment.Status\n\t_ = []int{0, 1, 2, 3, 4}[size]\n"},
	{"exits at a size", "\tsize, has := cr.Spec.Size, deployment.Status\n", "\tsize, has := cr.Spec.Size, deployment.Status\n\tif size < 3 {\n\t\tos.Exit(1)\n\t}\n"},
	{"changes not seen", "For(&cachev1alpha1.Memcached{})", "For(&cachev1alpha1.Memcached{}, builder.WithPredicates(comeOrGo))"},
	{"names pile up", "cr.Status.Nodes = names", "cr.Status.Nodes = append(cr.Status.Nodes, names...)"},
	{"selector of other pods", "\tselector := map[string]string{memcachedLabel: cr.Name}\n", "\tselector := map[string]string{memcachedLabel: \"other\"}\n"},
	{"no image", "WithImage(cmp.Or(", "WithWorkingDir(cmp.Or("},
	{"extra object without an owner", mutantApply, mutantApply + "\t_ = r.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cr.Namespace, Name: cr.Name}})\n"},
	{"extra object at each call", mutantApply, mutantApply + "\t_ = r.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cr.Namespace, GenerateName: cr.Name}})\n"},
	{"noted before it is done", mutantApply, "\tif cr.Annotations[\"done\"] == fmt.Sprint(cr.Generation) {\n\t\treturn ctrl.Result{}, nil\n\t}\n" +
		"\tcr.Annotations = map[string]string{\"done\": fmt.Sprint(cr.Generation)}\n\tif err := r.Patch(ctx, cr, client.MergeFrom(before)); err != nil {\n\t\treturn ctrl.Result{}, err\n\t}\n\tbefore = cr.DeepCopy()\n" + mutantApply},
	{"error swallowed", "\treturn ctrl.Result{}, applyErr\n", "\treturn ctrl.Result{}, nil\n"},
	{"error of the status swallowed", "return ctrl.Result{}, errors.Join(applyErr, fmt.Errorf(\"writing the status: %w\", err))", "return ctrl.Result{}, nil"},
	{"conflict swallowed", "if err = client.IgnoreNotFound(err); err != nil {", "if err = client.IgnoreNotFound(err); err != nil && !apierrors.IsConflict(err) {"},
	{"degraded for good", "\t\tset(\"Degraded\", false, \"\", \"AsExpected\", \"\")\n", "\t\t_ = set\n"},
	{"stale status", "\treturn applied, nil\n", "\treturn seen, nil\n"},
}

// rightsOf is what a mutant's own requests need.
func rightsOf(m mutant) string {
	if m.old == mutantApply {
		return mutantRights + "// +kubebuilder:rbac:groups=core,resources=configmaps,verbs=get;list;watch;create\n"
	}
	return mutantRights
}
