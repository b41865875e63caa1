import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CollectorConfig, configNames, configText, loadConfig, typeOf } from './support/configs.ts';

/** Names that a release has replaced: they still load, with a warning, until they are taken away. */
const DEPRECATED = [
  'loadbalancing',
  'resourcedetection',
  'otlpjsonfile',
  'otlphttp',
  'hostmetrics',
  'spanmetrics',
  'filelog',
  'logging',
  'memory_ballast',
];
/** `otlp` stays the receiver's name; as an exporter it is `otlp_grpc` now. */
const DEPRECATED_EXPORTERS = ['otlp'];

const configs = configNames.map((name) => ({ name, config: loadConfig(name) }));

function pipelines(config: CollectorConfig) {
  return Object.entries(config.service.pipelines);
}

test('the configurations are the ones the README names', () => {
  assert.deepEqual(configNames, [
    'agent.yaml',
    'clickhouse.yaml',
    'gateway.yaml',
    'local.yaml',
    'replay.yaml',
  ]);
});

for (const { name, config } of configs) {
  test(`${name}: every variable has a default`, () => {
    const withoutDefault = [...configText(name).matchAll(/\$\{[^}]*\}/g)]
      .map((match) => match[0])
      .filter((variable) => !/^\$\{env:[A-Z_0-9]+:-[^}]*\}$/.test(variable));
    assert.deepEqual(withoutDefault, []);
  });

  test(`${name}: every setting is named in the comment at the top`, () => {
    const text = configText(name);
    const comment = text.slice(0, text.indexOf('\nreceivers:'));
    const used = [...text.matchAll(/\$\{env:(WAITFALL_\w+):-/g)].map((match) => match[1]);
    const missing = used.filter(
      (variable) => !comment.includes(variable) && !comment.includes(variable.replace(/.*(?=_[A-Z]+$)/, '')),
    );
    assert.deepEqual([...new Set(missing)], []);
  });

  test(`${name}: no deprecated names`, () => {
    const ids = [
      ...Object.keys(config.receivers ?? {}),
      ...Object.keys(config.processors ?? {}),
      ...Object.keys(config.exporters ?? {}),
      ...Object.keys(config.connectors ?? {}),
      ...Object.keys(config.extensions ?? {}),
    ];
    assert.deepEqual(
      ids.filter((id) => DEPRECATED.includes(typeOf(id))),
      [],
    );
    assert.deepEqual(
      Object.keys(config.exporters ?? {}).filter((id) => DEPRECATED_EXPORTERS.includes(typeOf(id))),
      [],
    );
  });

  test(`${name}: the memory limiter comes first in every pipeline`, () => {
    for (const [id, pipeline] of pipelines(config)) {
      assert.equal(typeOf(pipeline.processors?.[0] ?? 'none'), 'memory_limiter', id);
    }
    for (const [id, settings] of Object.entries(config.processors ?? {})) {
      if (typeOf(id) !== 'memory_limiter') continue;
      const { limit_mib, spike_limit_mib } = settings as { limit_mib: number; spike_limit_mib: number };
      assert.ok(spike_limit_mib < limit_mib, `${id}: the soft limit is limit - spike`);
    }
  });

  test(`${name}: nothing is batched before tail sampling or load balancing`, () => {
    for (const [id, pipeline] of pipelines(config)) {
      const types = (pipeline.processors ?? []).map(typeOf);
      const batch = types.indexOf('batch');
      const sampling = types.indexOf('tail_sampling');
      if (sampling >= 0) assert.ok(batch < 0 || batch > sampling, id);
      if (pipeline.exporters.some((exporter) => typeOf(exporter) === 'load_balancing')) {
        assert.equal(batch, -1, id);
      }
    }
  });

  test(`${name}: what is measured is measured before sampling`, () => {
    for (const [id, pipeline] of pipelines(config)) {
      if (!pipeline.exporters.some((exporter) => typeOf(exporter) === 'span_metrics')) continue;
      assert.ok(!(pipeline.processors ?? []).some((processor) => typeOf(processor) === 'tail_sampling'), id);
    }
  });

  test(`${name}: files rotate, and lines of a bounded length go in`, () => {
    for (const [id, settings] of Object.entries(config.exporters ?? {})) {
      if (typeOf(id) !== 'file') continue;
      const { rotation, append } = settings as { rotation?: Record<string, number>; append?: boolean };
      assert.ok(rotation && rotation['max_megabytes'] > 0 && rotation['max_backups'] > 0, id);
      assert.notEqual(append, true, `${id}: append and rotation exclude each other`);
    }
    for (const [id, settings] of Object.entries(config.processors ?? {})) {
      if (typeOf(id) === 'batch') assert.ok(Number(settings?.['send_batch_max_size']) > 0, id);
    }
  });

  test(`${name}: what is used is declared, and what is declared is used`, () => {
    const declared = (section: 'receivers' | 'processors' | 'exporters') =>
      Object.keys(config[section] ?? {});
    const connectors = Object.keys(config.connectors ?? {});
    const used = pipelines(config).map(([, pipeline]) => pipeline);
    for (const { receivers, processors, exporters } of used) {
      for (const id of receivers) assert.ok([...declared('receivers'), ...connectors].includes(id), id);
      for (const id of processors ?? []) assert.ok(declared('processors').includes(id), id);
      for (const id of exporters) assert.ok([...declared('exporters'), ...connectors].includes(id), id);
    }
    for (const id of declared('receivers'))
      assert.ok(
        used.some((p) => p.receivers.includes(id)),
        id,
      );
    for (const id of declared('processors'))
      assert.ok(
        used.some((p) => p.processors?.includes(id)),
        id,
      );
    for (const id of connectors) {
      assert.ok(used.some((p) => p.receivers.includes(id)) && used.some((p) => p.exporters.includes(id)), id);
    }
    assert.deepEqual(
      [...(config.service.extensions ?? [])].sort(),
      Object.keys(config.extensions ?? {}).sort(),
    );
  });

  test(`${name}: listens on the loopback interface unless told otherwise`, () => {
    for (const settings of Object.values({ ...config.receivers, ...config.extensions })) {
      for (const endpoint of endpointsOf(settings)) assert.match(endpoint, /^127\.0\.0\.1:\d+$/);
    }
  });
}

test('local.yaml listens on the loopback interface, whatever the environment says', () => {
  const lines = configText('local.yaml').split('\n');
  const listening = lines.filter((line) => /^\s*(endpoint|host):/.test(line));
  assert.equal(listening.length, 3);
  for (const line of listening) assert.match(line, /: 127\.0\.0\.1(:|$)/);
});

test('configurations that run beside each other listen on different ports', () => {
  const ports = configs.flatMap(({ config }) =>
    Object.values({ ...config.receivers, ...config.extensions })
      .flatMap(endpointsOf)
      .map((endpoint) => endpoint.split(':')[1]),
  );
  const twice = ports.filter((port, i) => ports.indexOf(port) !== i);
  // local.yaml and agent.yaml both stand where services send to, and never run on one machine together.
  assert.deepEqual(twice.sort(), ['4317', '4318']);
});

/** Every `endpoint` in a component's settings, however deep. */
function endpointsOf(settings: unknown): string[] {
  if (settings === null || typeof settings !== 'object') return [];
  return Object.entries(settings).flatMap(([key, value]) =>
    key === 'endpoint' ? [String(value)] : endpointsOf(value),
  );
}
