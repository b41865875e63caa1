// Half a million objects are looked at by the garbage collector, and everything stands still.
import { createServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { listen } from './listen.mjs';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const alive = Array.from({ length: 500_000 }, (_, i) => ({ i, text: `object ${i}` }));

listen(
  createServer((_request, response) => {
    collect();
    response.end(`${alive.length} objects`);
  }),
);
