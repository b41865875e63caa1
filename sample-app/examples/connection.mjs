// A pool that uses each connection once: every request waits until a new one is established.
import { createServer } from 'node:http';
import pg from 'pg';
import { listen } from './listen.mjs';

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  application_name: 'shop',
  maxUses: 1,
});

listen(
  createServer(async (_request, response) => {
    await pool.query('SELECT 1');
    response.end('done');
  }),
  () => pool.end(),
);
