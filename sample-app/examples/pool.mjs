// One connection, statements of 40 ms: requests wait for the pool, not for the database.
import { createServer } from 'node:http';
import pg from 'pg';
import { listen } from './listen.mjs';

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  application_name: 'shop',
  max: 1,
});

listen(
  createServer(async (_request, response) => {
    await pool.query('SELECT pg_sleep(0.04)');
    response.end('done');
  }),
  () => pool.end(),
);
