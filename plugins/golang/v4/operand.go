package v4

import (
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	lazy "go.podman.io/storage/pkg/regexp"
)

// operand is what the pattern deployment runs: the flags that kubebuilder's
// deploy-image plugin has.
type operand struct {
	image, command, port, user string

	// Parsed by check.
	portNumber int32
	userID     int64
	arguments  []string
}

// defaultImage is what the pods of a kind run when no image was given. The tag
// is part of it: without one, what runs changes with what was pulled last.
func defaultImage(kind string) string {
	name := strings.ToLower(kind)
	tag, known := map[string]string{"memcached": "1.6", "nginx": "1.29", "redis": "8"}[name]
	if !known {
		tag = "latest"
	}
	return name + ":" + tag
}

// defaultUser is a user id without meaning: images that name their user, or
// none, do not start where the pod may not run as root.
const defaultUser = "1001"

func (o *operand) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.image, "image", "", "image of the pods; default: the kind in lower case, with a tag")
	flags.StringVar(&o.command, "image-container-command", "", "command of the container, separated by commas")
	flags.StringVar(&o.port, "image-container-port", "", "port that the container listens on")
	flags.StringVar(&o.user, "run-as-user", defaultUser, "user id of the container; empty leaves it to the cluster")
}

// imagePattern matches image references as the distribution specification
// has them: [HOST[:PORT]/]PATH[:TAG][@DIGEST]. Only hosts have upper case.
var imagePattern = lazy.Delayed(`^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]+)?/)?` +
	`[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*` +
	`(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@[a-z0-9]+([.+_-][a-z0-9]+)*:[0-9a-fA-F]{32,})?$`)

// check parses the flags.
func (o *operand) check(s *createAPISubcommand) error {
	for _, flag := range []string{"image", "image-container-command", "image-container-port", "run-as-user"} {
		if s.changed(flag) && (!s.doResource || s.pattern != patternDeployment) {
			return usage("leave out --"+flag+", or use --pattern deployment", "--%s says what the pattern deployment runs", flag)
		}
	}
	if o.image == "" && s.changed("image") || o.image != "" && !imagePattern.MatchString(o.image) {
		return usage("use a reference such as docker.io/library/memcached:1.6", "image %q is not an image reference", o.image)
	}
	if o.port != "" {
		port, err := strconv.ParseUint(o.port, 10, 16)
		if err != nil || port == 0 {
			return usage("use a number from 1 to 65535", "--image-container-port %q is not a port", o.port)
		}
		o.portNumber = int32(port)
	}
	if o.user != "" {
		user, err := strconv.ParseInt(o.user, 10, 64)
		if err != nil || user < 1 || user > math.MaxInt32 {
			return usage("use a number from 1 on: user 0 is root, which the pods may not be", "--run-as-user %q is not a user id", o.user)
		}
		o.userID = user
	}
	if o.command != "" {
		o.arguments = strings.Split(o.command, ",")
		if o.arguments[0] == "" {
			return usage("begin with the program, such as --image-container-command redis-server,--port,6379", "--image-container-command %q names no program", o.command)
		}
	}
	return nil
}
