package congestion

// DCQCNParams is the configuration of DCQCN; see the presets.
type DCQCNParams struct{}
