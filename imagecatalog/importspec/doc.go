// Package importspec says to the image pipeline what the API's words about an image mean.
package importspec
