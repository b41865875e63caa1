// Package otlpjsonfile is a receiver that reads OTLP JSON lines from files.
//
// It has the type and the settings of the `otlp_json_file` receiver in the official otelcol-contrib, so that
// replay.yaml runs on either; the minimal collector carries its own because that module is not on every
// module proxy.
package otlpjsonfile

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/stanza/fileconsumer"
)

var componentType = component.MustNewType("otlp_json_file")

// Config is which files to read and how.
type Config struct {
	fileconsumer.Config `mapstructure:",squash"`
	// ReplayFile reads every file again at each poll.
	ReplayFile bool `mapstructure:"replay_file"`
}

// NewFactory returns the factory that the collector builder looks for.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(
		componentType,
		func() component.Config { return &Config{Config: *fileconsumer.NewConfig()} },
		receiver.WithTraces(newTraces, component.StabilityLevelAlpha),
		receiver.WithMetrics(newMetrics, component.StabilityLevelAlpha),
		receiver.WithLogs(newLogs, component.StabilityLevelAlpha),
	)
}

func newTraces(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	return newReceiver(set, cfg.(*Config), tracesIn(next))
}

func newMetrics(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return newReceiver(set, cfg.(*Config), metricsIn(next))
}

func newLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	return newReceiver(set, cfg.(*Config), logsIn(next))
}
