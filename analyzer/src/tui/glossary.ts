/** What the words on the screens mean; shown by `?`. */
export const GLOSSARY: readonly {
  readonly title: string;
  readonly entries: readonly (readonly [string, string])[];
}[] = [
  {
    title: 'Segments: waits',
    entries: [
      ['admission wait', 'waiting for one of the service’s own request slots'],
      ['event loop wait', 'ready to run, but the loop was busy with something else'],
      ['thread pool wait', 'waiting for a libuv worker thread'],
      ['pool wait', 'waiting for a free connection of a pool or a free socket of an agent'],
      ['connection wait', 'establishing a new connection: DNS, TCP, TLS, authentication'],
      ['lock wait', 'waiting for a row, table or advisory lock that another transaction held'],
      ['runtime pause', 'the whole process stood still: garbage collection or CPU throttling'],
      ['generator wait', 'planned arrival to actual send, in a load generator'],
    ],
  },
  {
    title: 'Segments: service',
    entries: [
      ['work', 'CPU slices that are proven to have run for this request'],
      ['downstream', 'a database, a remote call, another service'],
      ['network', 'a call’s time that its server does not account for'],
      ['messaging', 'publishing or consuming a message'],
      ['abandoned', 'went on after the caller had given up; part of no request’s time'],
      ['unaccounted', 'inside the service, but nobody measured what it was'],
    ],
  },
  {
    title: 'Columns',
    entries: [
      [
        'step',
        'a window of the load: one rate of the load plan, or a stretch of even arrivals that was found',
      ],
      ['planned', 'arrivals per second the load plan asked for'],
      ['arrived', 'requests whose root span started in the window, per second'],
      ['completed', 'requests that ended in the window, however they ended, per second'],
      ['good', 'successful requests only, per second; good p50, p99, p99.9: their latency'],
      ['failed', 'rejected, timed out, aborted or in error'],
      ['rate', 'requests of the route per second, over all steps'],
      ['queue', 'mean number of waiters; in the list of queues also the name of the resource'],
      ['cap', 'servers of the queue: connections, slots; 1 for an event loop or a row'],
      ['used', 'time the servers were held, of the time they were there (utilisation)'],
      ['used by step', 'the same for every step, on a scale from 0 to 100 %; a dot where it is unknown'],
      ['servers', 'as cap'],
      ['waited', 'share of arrivals that had to wait'],
      [
        'mean, p99 wait',
        'time from asking for the resource to getting it; timed-out waits count as long as they lasted',
      ],
      ['errors', 'arrivals that were rejected or timed out in the step'],
      ['demand', 'time of its own a request needs of this queue: visits × hold less the waits inside'],
      ['own limit', 'capacity / demand: the rate at which this queue alone would be full'],
      ['headroom', 'own limit over the present rate; below 1 the queue grows'],
      ['cohort', 'median: the middle tenth around the median; slow 1%: the slowest hundredth'],
      ['outcome', 'success, rejected (429, 503), timeout, aborted by the caller, error'],
      ['share', 'own time of the trace’s duration'],
      ['×3', 'three identical siblings on one line; l unfolds'],
      ['b', 'somebody is named as the holder: b goes there'],
      ['own', 'time of the trace that belongs to this span and to no other'],
      ['↑', 'the backlog grows: percentiles depend on how long the window lasted'],
      ['≈  ?  –', 'inferred; unknown; no value'],
      ['▲ knee', 'rate from which on more arrivals do not mean more good responses'],
      ['arrow, %', 'share of the growth of the next queue’s hold that is waiting on the queue before'],
      ['p99', 'nearest rank: the value of a real request that 99 % do not exceed'],
    ],
  },
  {
    title: 'Filter of the traces',
    entries: [
      ['route:signup', 'routes that contain the text; also service:, status:, trace:, root:, step:3'],
      ['lock_wait>10ms', 'time owned by a segment; also duration>1s; units ns, us, ms, s'],
      ['text', 'in the route, the service or at the start of the trace id'],
    ],
  },
];
