package bundle

import (
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
)

// LockName is the file, in the kustomization's directory, that keeps the
// digests of images: a bundle that is made again has the same ones, and needs
// no network.
const LockName = "image-digests.yaml"

// lockHead explains the file to who opens it.
const lockHead = "# The digests that 'mysdk bundle generate --use-image-digests' puts in place of tags.\n" +
	"# Take a line out to have its tag resolved again.\n"

// lock is what the file looks like.
type lock struct {
	Images map[string]string `json:"images"` // reference by tag -> digest
}

// ReadLock reads the digests from a lock file's contents.
func ReadLock(data []byte, file string) (map[string]string, error) {
	var l lock
	if err := yaml.UnmarshalStrict(data, &l); err != nil {
		return nil, clierr.Failedf("correct the file, or remove it to have every tag resolved again", "%w", yamlProblem(file, err))
	}
	return l.Images, nil
}

// WriteLock writes a lock file: the images, each with its digest.
func WriteLock(digests map[string]string) ([]byte, error) {
	data, err := marshal(lock{Images: digests})
	return append([]byte(lockHead), data...), err
}
