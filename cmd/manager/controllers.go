package main

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
)

func addControllers(_ context.Context, _ ctrl.Manager, _ *options, _ *pipeline) error { return nil }

func addWebhooks(_ ctrl.Manager, _ *options) error { return nil }
