//go:build !mutant

package rdma

// mutantCountDuplicate is a fault that the property tests must catch (build tag
// mutant): a responder counts the payload of duplicates as delivered.
const mutantCountDuplicate = false
