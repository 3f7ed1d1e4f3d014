// Command etcd is the stock etcd server and nothing else: the official module ships its entry point as a library.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
