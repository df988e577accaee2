module github.com/hopscope/hopscope/oracle

go 1.26.8

require github.com/hopscope/hopscope v0.0.0

require github.com/goccy/go-yaml v1.19.2 // indirect

require (
	github.com/google/btree v1.1.2 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/sys v0.50.0
	golang.org/x/time v0.15.0 // indirect
	gvisor.dev/gvisor v0.0.0-20260905035102-160fafc42237
)

replace github.com/hopscope/hopscope => ../
