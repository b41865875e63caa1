/** A small service: one route that locks a row, one that queries the pool, one that is slow. */
export function start(express, pg) {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2, application_name: 'shop' });
  const app = express();
  app.get('/items/:id', async (request, response) => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('UPDATE item SET sold = sold + 1 WHERE id = $1', [request.params.id]);
      await client.query('SELECT pg_sleep(0.02)');
      await client.query('COMMIT');
      response.json({ ok: true });
    } finally {
      client.release();
    }
  });
  app.get('/count', async (_request, response) => {
    response.json((await pool.query('SELECT count(*)::int AS count FROM item')).rows[0]);
  });
  const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
  process.on('message', async (message) => {
    if (message !== 'stop') return;
    server.close();
    server.closeAllConnections();
    await pool.end();
    process.disconnect();
  });
}
