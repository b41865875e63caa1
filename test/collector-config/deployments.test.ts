import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { collectorBinary, skipWithoutCollector } from './support/binary.ts';
import { configFolder, configNames, configText } from './support/configs.ts';

/** A container of a Compose or Kubernetes file: what it runs and with which settings. */
interface Container {
  readonly file: string;
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
}

const release: string = parse(readFileSync(join(configFolder, 'builder.yaml'), 'utf8')).dist.version;

function documents(file: string): unknown[] {
  return parseAllDocuments(readFileSync(join(configFolder, file), 'utf8'), { merge: true }).map(
    (document) => {
      assert.deepEqual(document.errors, [], file);
      return document.toJS();
    },
  );
}

function composeContainers(file: string): Container[] {
  const { services } = documents(file)[0] as {
    services: Record<string, { image: string; command: string[]; environment: Record<string, string> }>;
  };
  return Object.entries(services).map(([name, { image, command, environment }]) => ({
    file,
    name,
    image,
    args: command,
    env: new Map(Object.entries(environment)),
  }));
}

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector?: { readonly matchLabels?: Record<string, string> };
    readonly template?: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: {
        readonly containers: readonly {
          readonly image: string;
          readonly args: readonly string[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
          readonly volumeMounts: readonly { readonly name: string }[];
        }[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

function kubernetesContainers(file: string): Container[] {
  return (documents(file) as KubernetesObject[]).flatMap(({ metadata, spec }) =>
    (spec.template?.spec.containers ?? []).map(({ image, args, env }) => ({
      file,
      name: metadata.name,
      image,
      args,
      env: new Map(env.map(({ name, value }) => [name, value ?? 'from-the-cluster'])),
    })),
  );
}

const containers = [
  ...globSync('docker/*.yaml', { cwd: configFolder }).sort().flatMap(composeContainers),
  ...globSync('kubernetes/*.yaml', { cwd: configFolder }).sort().flatMap(kubernetesContainers),
];

test('every tier has a container in each kind of deployment', () => {
  const runs = containers.map(({ file, args }) => `${file.split('/')[0]} ${configOf(args)}`);
  assert.deepEqual([...new Set(runs)].sort(), [
    'docker agent.yaml',
    'docker gateway.yaml',
    'docker local.yaml',
    'kubernetes agent.yaml',
    'kubernetes gateway.yaml',
  ]);
});

function configOf(args: readonly string[]): string {
  return basename(args.find((arg) => arg.startsWith('--config=/'))!);
}

for (const { file, name, image, args, env } of containers) {
  test(`${file} ${name}: the image is the release that the manifest is pinned to`, () => {
    assert.equal(image, `otel/opentelemetry-collector-contrib:${release}`);
  });

  test(`${file} ${name}: runs a configuration that is here, with settings it knows`, () => {
    const config = configOf(args);
    assert.ok(configNames.includes(config), config);
    for (const setting of env.keys()) {
      if (setting.startsWith('WAITFALL_'))
        assert.ok(configText(config).includes(`\${env:${setting}:-`), setting);
    }
    assert.ok(env.has('GOMEMLIMIT'), 'the collector must know its memory');
  });

  test(`${file} ${name}: validates as it is started`, { skip: skipWithoutCollector }, () => {
    const mapped = args.map((arg) => arg.replace('/etc/waitfall/', configFolder).replace('/hostfs', '/'));
    const run = spawnSync(collectorBinary!, ['validate', ...mapped], {
      env: Object.fromEntries(env),
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, run.stderr);
  });
}

test('Kubernetes objects select their own pods and mount volumes that exist', () => {
  for (const file of globSync('kubernetes/*.yaml', { cwd: configFolder })) {
    for (const { kind, metadata, spec } of documents(file) as KubernetesObject[]) {
      if (!spec.template) continue;
      const where = `${file} ${kind} ${metadata.name}`;
      for (const [label, value] of Object.entries(spec.selector?.matchLabels ?? {})) {
        assert.equal(spec.template.metadata.labels[label], value, where);
      }
      const volumes = [
        ...spec.template.spec.volumes.map((volume) => volume.name),
        ...(spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name),
      ];
      for (const mount of spec.template.spec.containers.flatMap((container) => container.volumeMounts)) {
        assert.ok(volumes.includes(mount.name), `${where}: ${mount.name}`);
      }
    }
  }
});
