// Package publish puts the files of a build and a signed index of them where others fetch them.
package publish
