// Command replay sends the recorded transcripts to a CloudStack server and prints where it answers differently.
package main
