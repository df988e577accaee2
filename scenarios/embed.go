// Package scenarios holds the shipped scenarios, a folder each.
package scenarios

import "embed"

// FS holds <name>/scenario.yaml of every shipped scenario.
//
//go:embed */scenario.yaml
var FS embed.FS
