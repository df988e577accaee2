module github.com/hopscope/hopscope

go 1.26.8
