//! A real etcd and kube-apiserver in one call, for the playground and for tests.
