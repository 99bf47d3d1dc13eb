# shellcheck shell=sh disable=SC2034
# What the steps share. Each reads it first: . "$WORKPLACE/lib.sh"

# step says which step begins; capcat build shows it as progress.
step() { echo "capcat: step: $*"; }

# fail ends the build with a reason.
fail() {
	echo "capcat: error: $*" >&2
	exit 1
}

# mirrored turns an address of the internet into that of the mirror, if there is one: its files lie under the host names.
mirrored() {
	if [ -n "$PACKAGES_FROM" ]; then
		echo "${PACKAGES_FROM%/}/${1#*://}"
	else
		echo "$1"
	fi
}

# fetch URL FILE
fetch() {
	fetch_url=$(mirrored "$1")
	echo "fetching $fetch_url"
	curl --fail --silent --show-error --location --retry 4 --retry-connrefused --connect-timeout 20 --output "$2" "$fetch_url" ||
		fail "fetching $fetch_url failed"
}

# fetch_proven URL FILE DIGEST_URL takes the file only if its SHA-256 is the one in the file of digests.
fetch_proven() {
	fetch "$1" "$2"
	fetch "$3" "$2.digest"
	# A line with the file's name, or the only line of a side file.
	want=$(awk -v name="${1##*/}" '$2 == name || $2 == "*" name { print $1; found = 1; exit } NR == 1 { only = $1 } END { if (!found && NR == 1) print only }' "$2.digest")
	got=$(sha256sum "$2" | cut -d' ' -f1)
	rm -f "$2.digest"
	[ "$want" = "$got" ] || fail "$1 has SHA-256 $got, but ${3##*/} says ${want:-nothing of it}"
}

# put FILE [MODE] writes its input to the file, with its folders.
put() {
	mkdir -p "$(dirname "$1")"
	cat >"$1"
	chmod "${2:-0644}" "$1"
}

# Programs of ours go where the system may be written.
if [ "$OS_FAMILY" = flatcar ]; then
	BIN=/opt/bin
else
	BIN=/usr/bin
fi
mkdir -p "$BIN"
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:$BIN
export PATH
