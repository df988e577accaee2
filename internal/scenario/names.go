package scenario

import "github.com/hopscope/hopscope/internal/workload"

// EndNames are how reports call the ends of a connection: "h4", "h4:2" of a host with several
// ports, and with the device of its server in which the data lie, "h4/gpu3".
func (v *Valid) EndNames(c *workload.Conn) (src, dst string) {
	return v.endName(c.Src, c.SrcDevice), v.endName(c.Dst, c.DstDevice)
}

func (v *Valid) endName(endpoint int, device int16) string {
	name := v.Graph.EndpointName(endpoint)
	if t := v.NICs[v.Graph.HostOf(endpoint)].Server; t != nil && device != workload.NoDevice {
		name += "/" + t.Devices[device].Name
	}
	return name
}
