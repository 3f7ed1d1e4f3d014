//! How it runs: clients, caches, queue, leases, writer, events, metrics, admin server, shutdown.
