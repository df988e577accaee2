// Package docs holds those pages and files of the documentation that the program itself reads.
package docs

import "embed"

// FS holds the guide's chapters, guide/<language>/<number>-<name>.md, and the files that their
// commands name.
//
//go:embed guide/*/*.md examples/*.yaml models/training/*.yaml
var FS embed.FS
