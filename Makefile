# Everything here needs Go, make and git, and of the network only the Go module proxy.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# One set of build flags everywhere: they are part of the key of Go's build cache.
export GOFLAGS := -trimpath
GO ?= go

# Tools and the control plane are kept outside the tree, so that "git clean" does not cost minutes.
CACHE := $(or $(CAPCAT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/capcat)
TOOLS := $(CACHE)/tools

CONTROLLER_GEN_VERSION := v0.21.0
KUSTOMIZE_VERSION := v5.8.1
GOLANGCI_LINT_VERSION := v2.15.0

CONTROLLER_GEN := $(TOOLS)/controller-gen-$(CONTROLLER_GEN_VERSION)/controller-gen
KUSTOMIZE := $(TOOLS)/kustomize-$(KUSTOMIZE_VERSION)/kustomize
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

# Settings a person may give: make test TEST='-run Retire' PKG=./controllers/image, make demo KEEP=1, make docker-build IMG=...,
# make replay URL=http://127.0.0.1:8080/client/api KEYS=keys.json, make release VERSION=v0.1.0 REGISTRY=registry.example.org/team
PKG ?= ./...
TEST ?=
KEEP ?=
TWO ?=
TIER ?=
BENCH ?=
FAULTS ?= ./test/faults ./controllers/cluster ./controllers/machine ./controllers/image
URL ?=
KEYS ?=
CONTROL ?=
FILES ?=
# make packer-validate PACKER=/opt/packer, make packer-build-test REUSE=1 (the image that lies there already) or IMAGE_OS=debian-13 OUTPUT=qcow2,ova,vhd
PACKER ?=
IMAGE_OS ?= debian-12
OUTPUT ?=
REUSE ?=
IMG ?= capcat/capc-controller:dev
VERSION ?=
REGISTRY ?= ghcr.io/capcat
DOCKER ?= docker

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use

.PHONY: build
build: ## Build bin/manager, bin/capcat (also as kubectl-capcat) and bin/cloudsim
	$(GO) build -o bin/ ./cmd/...
	ln -sf capcat bin/kubectl-capcat

.PHONY: demo
demo: build ## Bring real images into three simulated zones and a cluster out of them (KEEP=1 leaves everything running)
	$(GO) build -o bin/demo ./test/demo
	@exec bin/demo $(if $(KEEP),-keep)

.PHONY: management
management: build ## Run a simulated CloudStack and a management cluster for clusterctl (TWO=1: two, for move)
	$(GO) build -o bin/serve ./test/management/serve
	@exec bin/serve $(if $(TWO),-two) $(if $(TIER),-tier $(TIER))

.PHONY: e2e
e2e: ## Tell the stories of whole clusters, for minutes (TIER=real: with a real control plane in each machine)
	$(if $(filter real,$(TIER)),$(GO) test -tags e2e -count 1 -timeout 10m -run TestReal ./test/workload)
	$(GO) test -tags e2e -count 1 -timeout 120m -parallel $(if $(filter real,$(TIER)),2,6) -v $(TEST) ./test/e2e/clusters $(if $(TIER),-tier $(TIER))

.PHONY: test
test: ## Run every test, with one local control plane for all of them (make verify vets the code)
	@told=$$(mktemp); code=0; set -x; \
	CAPCAT_FAULTS_TOLD=$$told $(GO) run ./test/controlplane/with $(GO) test -vet=off -p 4 -timeout 10m $(TEST) $(PKG) || code=$$?; \
	{ set +x; } 2>/dev/null; sort $$told; rm -f $$told; exit $$code

.PHONY: faults
faults: ## Try every fault at every call, where make test tries a selection
	@told=$$(mktemp); code=0; \
	CAPCAT_FAULTS=all CAPCAT_FAULTS_TOLD=$$told $(GO) run ./test/controlplane/with $(GO) test -p 2 -timeout 120m $(FAULTS) || code=$$?; \
	sort $$told; rm -f $$told; exit $$code

.PHONY: replay
replay: ## Replay the transcripts on a server: URL=http://.../client/api KEYS=keys.json, and CONTROL=... FILES="..." if need be
	$(GO) build -o bin/replay ./test/replay
	@bin/replay -url "$(URL)" -keys "$(KEYS)" -control "$(CONTROL)" $(FILES)

.PHONY: bench
bench: ## Measure decoding, the whole chain and the calls to CloudStack beside their goals (BENCH="-only calls -crews 100")
	$(GO) run ./test/bench $(BENCH)

##@ Images

.PHONY: packer-validate
packer-validate: ## Have Packer check every recipe (PACKER=... for another Packer than the one in the path)
	$(GO) run ./test/packer/validate -packer "$(or $(PACKER),packer)"

.PHONY: packer-build-test
packer-build-test: ## Make an image (IMAGE_OS=...) from Debian packages alone, boot it, bring it into three zones (an hour at most)
	$(GO) build -o bin/prove ./test/packer/prove
	@exec bin/prove -os $(IMAGE_OS) $(if $(OUTPUT),-output $(OUTPUT)) $(if $(REUSE),-reuse)

.PHONY: image-tools-test
image-tools-test: ## Have qemu-img, tar, file and minisign look at the images and signatures that are written here
	$(GO) test -tags imagetools ./imagecatalog/artifact/convert ./imagecatalog/index

##@ Develop

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Write deep copies, CRDs, roles, webhook manifests and reference pages
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./controllers/... paths=./cmd/manager/... output:rbac:dir=config/rbac
	$(CONTROLLER_GEN) webhook paths=./controllers/webhook/... output:webhook:dir=config/webhook
	$(GO) run ./docs/generate

.PHONY: fmt
fmt: ## Format all Go code
	gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters
	$(GOLANGCI_LINT) run ./...

.PHONY: manifests
manifests: $(KUSTOMIZE) ## Write what "kubectl apply" and clusterctl install to bin/infrastructure-components.yaml
	@mkdir -p bin
	$(KUSTOMIZE) build config/default > bin/infrastructure-components.yaml

.PHONY: release
release: ## Write what a release consists of to out/infrastructure-cloudstack/$(VERSION), a local repository for clusterctl
	@$(GO) run ./test/release/write -version "$(VERSION)" -registry "$(REGISTRY)"

.PHONY: docs
docs: ## Write the reference pages, and the book where mdbook is installed
	$(GO) run ./docs/generate
	@if command -v mdbook >/dev/null; then mdbook build docs; else echo "mdbook is not installed: read docs/SUMMARY.md"; fi

.PHONY: docker-build
docker-build: ## Build the manager's container image as $(IMG)
	$(DOCKER) build -t $(IMG) .

.PHONY: clean
clean: ## Remove what was built here (the cache of tools and control plane stays)
	rm -rf bin out .demo .management docs/book

##@ Verify

.PHONY: verify
verify: verify-format verify-tidy generate manifests lint verify-imports verify-clean ## Check generated files, formatting, modules, lint, import rules and a clean tree

.PHONY: verify-format
verify-format:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "not formatted, run make fmt:"; echo "$$bad"; exit 1; fi

.PHONY: verify-tidy
verify-tidy:
	$(GO) mod tidy -diff

.PHONY: verify-imports
verify-imports:
	$(GO) test ./test/architecture/...

.PHONY: verify-clean
verify-clean:
	@dirty=$$(git status --porcelain); if [ -n "$$dirty" ]; then \
		echo "the tree is not clean: commit these, and if they are generated, after make generate"; \
		echo "$$dirty"; git --no-pager diff; exit 1; fi

# Tools are built from the Go module proxy, once per version.

$(CONTROLLER_GEN):
	GOBIN=$(@D) $(GO) install sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION)

$(KUSTOMIZE):
	GOBIN=$(@D) $(GO) install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION)

$(GOLANGCI_LINT):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
