// Package process runs child processes that do not outlive the program that started them.
package process
