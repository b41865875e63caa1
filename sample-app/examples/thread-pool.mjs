// A key derivation takes a thread of libuv for a while, and here there is one: the others wait for it.
import { pbkdf2 } from 'node:crypto';
import { createServer } from 'node:http';
import { listen } from './listen.mjs';

listen(
  createServer((_request, response) => {
    pbkdf2('secret', 'salt', 50_000, 32, 'sha512', (_error, key) => response.end(key.toString('hex')));
  }),
);
