// Package httpclient makes HTTP requests as the Commons HttpClient 3.1 of a storage VM does, with its words for every failure.
package httpclient
