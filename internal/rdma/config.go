package rdma

// Config is a transport profile; see the presets.
type Config struct{}
