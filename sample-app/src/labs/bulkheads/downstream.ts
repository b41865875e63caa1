/** The service that everybody calls: `GET /price?ms=20` answers after that time. */
import { createServer } from 'node:http';
import { listenForParent } from '../listen.ts';

listenForParent(
  createServer((request, response) => {
    const ms = Number(new URL(request.url!, 'http://downstream').searchParams.get('ms'));
    setTimeout(() => {
      response.setHeader('content-type', 'application/json');
      response.end('{"price":100}');
    }, ms);
  }),
);
