package otlpjsonfile

import (
	"bytes"
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/stanza/fileconsumer"
)

// deliver hands one line on. It returns how many items the line held of the signal it looks for (0: another
// signal's line, which is no fault) and what went wrong.
type deliver func(ctx context.Context, line []byte) (int, error)

type fileReceiver struct {
	files *fileconsumer.Manager
}

func newReceiver(set receiver.Settings, cfg *Config, to deliver) (*fileReceiver, error) {
	onLines := func(ctx context.Context, lines [][]byte, attributes map[string]any, _ int64, _ []int64) error {
		for _, line := range lines {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			// A line that cannot be used is said and skipped: stopping here would stop the rest of the file.
			if items, err := to(ctx, line); err != nil {
				set.Logger.Error("line not delivered", zap.Any("file", attributes), zap.Int("items", items), zap.Error(err))
			}
		}
		return nil
	}
	var opts []fileconsumer.Option
	if cfg.ReplayFile {
		opts = append(opts, fileconsumer.WithNoTracking())
	}
	files, err := cfg.Config.Build(set.TelemetrySettings, onLines, opts...)
	if err != nil {
		return nil, err
	}
	return &fileReceiver{files: files}, nil
}

// Start begins reading. Offsets are not kept over a restart: a replay starts from the beginning.
func (r *fileReceiver) Start(context.Context, component.Host) error {
	return r.files.Start(nil)
}

// Shutdown stops reading.
func (r *fileReceiver) Shutdown(context.Context) error {
	return r.files.Stop()
}

func tracesIn(next consumer.Traces) deliver {
	var decoder ptrace.JSONUnmarshaler
	return func(ctx context.Context, line []byte) (int, error) {
		data, err := decoder.UnmarshalTraces(line)
		if err != nil || data.SpanCount() == 0 {
			return 0, err
		}
		return data.SpanCount(), next.ConsumeTraces(ctx, data)
	}
}

func metricsIn(next consumer.Metrics) deliver {
	var decoder pmetric.JSONUnmarshaler
	return func(ctx context.Context, line []byte) (int, error) {
		data, err := decoder.UnmarshalMetrics(line)
		if err != nil || data.DataPointCount() == 0 {
			return 0, err
		}
		return data.DataPointCount(), next.ConsumeMetrics(ctx, data)
	}
}

func logsIn(next consumer.Logs) deliver {
	var decoder plog.JSONUnmarshaler
	return func(ctx context.Context, line []byte) (int, error) {
		data, err := decoder.UnmarshalLogs(line)
		if err != nil || data.LogRecordCount() == 0 {
			return 0, err
		}
		return data.LogRecordCount(), next.ConsumeLogs(ctx, data)
	}
}
