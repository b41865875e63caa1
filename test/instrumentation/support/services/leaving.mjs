// One connection and one row: what a client that leaves was waiting for, it had waited for all the same.
import { createServer } from 'node:http';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1, application_name: 'leaving' });
const rows = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4, application_name: 'rows' });
await pool.query('CREATE TABLE IF NOT EXISTS leaving (id int PRIMARY KEY, n int NOT NULL)');
// Later requests find connections: they wait for the row, not for those.
for (const client of await Promise.all([rows.connect(), rows.connect()])) client.release();
await pool.query('INSERT INTO leaving VALUES (1, 0) ON CONFLICT DO NOTHING');

async function lockRow(seconds) {
  const client = await rows.connect();
  try {
    await client.query('BEGIN');
    await client.query('UPDATE leaving SET n = n + 1 WHERE id = $1', [1]);
    await client.query('SELECT pg_sleep($1)', [seconds]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

const routes = {
  '/hold': () => pool.query('SELECT pg_sleep(0.8)'),
  '/want': () => pool.query('SELECT 1'),
  '/lock': () => lockRow(0.8),
  '/row': () => lockRow(0),
};
const server = createServer((request, response) => {
  const run = routes[request.url];
  if (run === undefined) return response.writeHead(404).end();
  run().then(
    () => response.end('done'),
    () => response.writeHead(500).end(),
  );
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', () => process.exit(0));
