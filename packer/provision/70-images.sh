#!/bin/sh
# The container images of kubeadm's own list, so that a node starts without a registry.
set -eu
# shellcheck source=packer/provision/lib.sh
. "$WORKPLACE/lib.sh"
step images

list=$("$BIN/kubeadm" config images list --kubernetes-version "$KUBERNETES_VERSION" --image-repository "$IMAGE_REGISTRY")

case $IMAGE_SOURCE in
none) exit 0 ;;
registry)
	for image in $list; do
		tries=3
		until ctr --namespace k8s.io images pull --platform "linux/$ARCH" "$image" >"$WORKPLACE/pull.log" 2>&1; do
			tries=$((tries - 1))
			[ $tries -gt 0 ] || { tail -n 5 "$WORKPLACE/pull.log" >&2; fail "pulling $image failed"; }
			sleep 5
		done
		echo "pulled $image"
	done
	;;
archive)
	[ -n "$PACKAGES_FROM" ] || fail "image_source is archive, but there is no packages_from"
	fetch "images/kubernetes-$KUBERNETES_VERSION-linux-$ARCH.tar" "$WORKPLACE/images.tar"
	ctr --namespace k8s.io images import --platform "linux/$ARCH" "$WORKPLACE/images.tar" || fail "the archive of images could not be imported"
	rm "$WORKPLACE/images.tar"
	;;
*) fail "image_source is registry, archive or none, not $IMAGE_SOURCE" ;;
esac

present=$(ctr --namespace k8s.io images list --quiet)
for image in $list; do
	echo "$present" | grep -q -x -F "$image" || fail "the image $image did not come"
done
