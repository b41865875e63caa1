// Everybody changes one row, and keeps it locked for 40 ms: requests wait for each other's COMMIT.
import { createServer } from 'node:http';
import pg from 'pg';
import { listen } from './listen.mjs';

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  application_name: 'shop',
  max: 10,
});
await pool.query('CREATE TABLE stock (id int PRIMARY KEY, left_over int)');
await pool.query('INSERT INTO stock VALUES (1, 1000)');

listen(
  createServer(async (_request, response) => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query('UPDATE stock SET left_over = left_over - 1 WHERE id = $1', [1]);
    await client.query('SELECT pg_sleep(0.04)');
    await client.query('COMMIT');
    client.release();
    response.end('done');
  }),
  () => pool.end(),
);
