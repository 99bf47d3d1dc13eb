// Package filetype says what file(1) 5.44 says about the images, archives and texts that a storage VM meets.
package filetype
