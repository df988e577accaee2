// Package tidy holds no code: its tests keep the layers of the repository apart
// and its files readable. table_test.go is what they hold against.
package tidy
