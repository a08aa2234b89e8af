package state

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

const (
	// CatalogLabel on a ConfigMap names the CatalogSource in the ConfigMap's
	// namespace whose content it holds: each key of data is a piece of a file-based
	// catalog, and each of binaryData too, compressed where it ends in CompressedEnd.
	CatalogLabel = "mysdk.dev/catalog"
	// CompressedEnd is the end of such a key in binaryData.
	CompressedEnd = ".gz"
	// RegistryCAAnnotation on a CatalogSource names a Secret beside it that has
	// the CA of the registries of its image and its bundles under RegistryCAKey.
	RegistryCAAnnotation = "mysdk.dev/registry-ca"
	// RegistryCAKey is that of operator-sdk.
	RegistryCAKey = "cert.pem"
	// RegistryTLSAnnotation says what else these registries are spoken to by:
	// skip-verify, plain-http, or both with a comma between.
	RegistryTLSAnnotation = "mysdk.dev/registry-tls"
	// OLMNamespaceAnnotation on the CRD of ClusterServiceVersions names the namespace
	// that OLM is installed in, where it is not that of OLM's own manifests.
	OLMNamespaceAnnotation = "mysdk.dev/olm-namespace"

	// maxCatalog bounds the unpacked content of one key, in bytes: the largest
	// public catalogs have some 200 MB.
	maxCatalog = 512 << 20
)

// CatalogPieces are the pieces of a catalog in a ConfigMap, uncompressed.
func CatalogPieces(data map[string]string, binaryData map[string][]byte) (map[string][]byte, error) {
	pieces := map[string][]byte{}
	for key, text := range data {
		pieces[key] = []byte(text)
	}
	for key, content := range binaryData {
		plain, compressed := strings.CutSuffix(key, CompressedEnd)
		if compressed {
			var err error
			if content, err = gunzip(content); err != nil {
				return nil, fmt.Errorf("key %s: %w", key, err)
			}
		}
		pieces[plain] = content
	}
	return pieces, nil
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxCatalog+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > maxCatalog {
		return nil, fmt.Errorf("it unpacks to more than %d MiB", maxCatalog>>20)
	}
	return plain, nil
}
