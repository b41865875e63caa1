import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dumpMetrics } from './dump.ts';
import { encodeProto, lengthPrefixed } from './proto-oracle.ts';
import { readBytes } from './reading.ts';

const T1 = '1750000000000000000';
const T2 = '1750000010000000000';

const METRICS = [
  {
    name: 'nodejs.eventloop.utilization',
    unit: '1',
    gauge: {
      dataPoints: [
        { timeUnixNano: T1, asDouble: 0.5, attributes: [{ key: 'kind', value: { stringValue: 'loop' } }] },
        { timeUnixNano: T2, asInt: '7' },
        { timeUnixNano: T2, flags: 1 },
      ],
    },
  },
  {
    name: 'requests',
    sum: {
      aggregationTemporality: 2,
      isMonotonic: true,
      dataPoints: [{ startTimeUnixNano: T1, timeUnixNano: T2, asInt: '9007199254740993' }],
    },
  },
  {
    name: 'wait_time',
    unit: 's',
    histogram: {
      aggregationTemporality: 1,
      dataPoints: [
        {
          startTimeUnixNano: T1,
          timeUnixNano: T2,
          count: '4',
          sum: 0.75,
          min: 0.125,
          max: 0.375,
          bucketCounts: ['1', '2', '1'],
          explicitBounds: [0.125, 0.25],
        },
      ],
    },
  },
  {
    name: 'use_time',
    unit: 's',
    exponentialHistogram: {
      aggregationTemporality: 2,
      dataPoints: [
        {
          timeUnixNano: T2,
          count: '6',
          sum: -3,
          scale: -1,
          zeroCount: '1',
          positive: { offset: -2, bucketCounts: ['2', '0', '1'] },
          negative: { offset: 3, bucketCounts: ['300'] },
        },
      ],
    },
  },
  {
    name: 'gc',
    summary: {
      dataPoints: [{ timeUnixNano: T2, count: '2', sum: 3, quantileValues: [{ quantile: 0.5, value: 1.5 }] }],
    },
  },
  { name: 'nothing yet', gauge: { dataPoints: [] } },
];

const REQUEST = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
      scopeMetrics: [{ scope: { name: 'runtime' }, metrics: METRICS }],
    },
  ],
};

const EXPECTED = `\
nodejs.eventloop.utilization[1] unspecified {service.name="shop"}
  number -..1750000000000000000 {kind="loop"} {"value":0.5}
  number -..1750000010000000000  {"value":7}
  number -..1750000010000000000  {"value":null}
requests[] cumulative monotonic {service.name="shop"}
  number 1750000000000000000..1750000010000000000  {"value":"9007199254740993n"}
wait_time[s] delta {service.name="shop"}
  histogram 1750000000000000000..1750000010000000000  {"count":"4n","sum":0.75,"min":0.125,"max":0.375,"bounds":[0.125,0.25],"bucketCounts":["1n","2n","1n"]}
use_time[s] cumulative {service.name="shop"}
  exponential -..1750000010000000000  {"count":"6n","sum":-3,"min":null,"max":null,"scale":-1,"zeroCount":"1n","positive":{"offset":-2,"counts":["2n","0n","1n"]},"negative":{"offset":3,"counts":["300n"]}}
gc[] unspecified {service.name="shop"}
  summary -..1750000010000000000  {"count":"2n","sum":3,"quantiles":[{"quantile":0.5,"value":1.5}]}
nothing yet[] unspecified {service.name="shop"}
`;

const proto = encodeProto('MetricsData', REQUEST);
const snake = JSON.stringify(REQUEST).replace(/"[a-zA-Z]+":/g, (key) =>
  key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);

for (const [name, content] of [
  ['JSON', JSON.stringify(REQUEST)],
  ['JSON, one ResourceMetrics a line', JSON.stringify(REQUEST.resourceMetrics[0])],
  ['JSON with proto names', snake],
  [
    'JSON with named enums',
    JSON.stringify(REQUEST).replace(
      '"aggregationTemporality":1',
      '"aggregationTemporality":"AGGREGATION_TEMPORALITY_DELTA"',
    ),
  ],
  ['protobuf', proto],
  ['protobuf, length-prefixed', lengthPrefixed(proto)],
] as const) {
  test(`every kind of metric as ${name}`, async () => {
    const input = await readBytes(content);
    assert.equal(dumpMetrics(input.metrics), EXPECTED);
    assert.deepEqual(input.rejected, []);
    assert.equal(input.files[0].note, 'no spans, only 6 metrics');
  });
}

test('a data point without a time is refused by name', async () => {
  const input = await readBytes(
    '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":1}]}}]}]}]}',
  );
  assert.deepEqual(
    input.rejected.map(({ reason }) => reason),
    ['metric "m": a data point without a time'],
  );
});
