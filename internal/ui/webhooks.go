package ui

import (
	"context"
	"slices"

	"github.com/example/mysdk/internal/recording"
)

func renderWebhooks(_ context.Context, r *Request) (any, error) {
	newest := slices.Clone(r.Recording.Webhooks)
	slices.Reverse(newest)
	return webhookCalls{len(newest), newest[:min(len(newest), rowsShown)]}, nil
}

type webhookCalls struct {
	Total int
	Rows  []recording.Webhook // the newest first
}
