module github.com/hopscope/hopscope/oracle

go 1.26.8

require github.com/hopscope/hopscope v0.0.0

replace github.com/hopscope/hopscope => ../
