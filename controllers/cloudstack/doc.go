// Package cloudstack speaks to CloudStack in domain nouns: one immutable session a credential, typed errors, jobs never awaited.
package cloudstack
