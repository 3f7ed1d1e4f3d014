module machinist.dev/tools/control-plane/openshift-crds

go 1.26.0

require github.com/openshift/api v0.0.0-20260715165912-72066cc9718b
