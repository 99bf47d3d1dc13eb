// Command manager runs the controllers of the provider.
package main

func main() {}
