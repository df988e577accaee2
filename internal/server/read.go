package server

import "bytes"

// Read reads a server from a file: a topology of NCCL or RCCL, or what nvidia-smi topo
// -m prints, told apart by how they begin. name becomes the tree's. An error is an
// *Error.
func Read(name string, text []byte) (*Tree, error) {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, &Error{1, 1, "the file is empty; it should be a topology of NCCL (XML) or output of nvidia-smi topo -m"}
	case isXML(text):
		return ParseXML(name, text)
	case isMatrix(text):
		m, err := ParseMatrix(text)
		if err != nil {
			return nil, err
		}
		return m.Tree(name)
	}
	return nil, &Error{1, 1, "neither a topology of NCCL (XML, which begins with <system>) nor output of nvidia-smi topo -m (which begins with GPU0)"}
}
